// CustomKinds: the kinds that CustomResourceDefinitions define and those of extension servers, as they come and go, for clients
// that look after objects of every kind. What is known of such a kind is its names and verbs; its type says nothing but that it
// has metadata.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/schema/structural.h"
#include "homeostat/sdk/informer.h"

namespace homeostat::sdk {

// Loop only.
class CustomKinds {
 public:
  // Asks the factory for an informer of definitions, which its owner starts.
  explicit CustomKinds(InformerFactory& informers);
  ~CustomKinds();
  CustomKinds(const CustomKinds&) = delete;
  CustomKinds& operator=(const CustomKinds&) = delete;

  // From now on also the kinds of the extension servers that APIServices name, if they can be listed, watched and deleted. They
  // stay while the APIService does, whether the server answers or not. The factory's owner starts its informers.
  void FollowExtensions(Runtime& runtime, Client client, InformerFactory& informers);

  // Called for each kind that is served, in one version (the stored one, if that is served), when it appears, and with
  // served=false when it goes or another version takes its place. Kinds that are there already are told at once. A kind
  // keeps its address, also after it went, until this is destroyed.
  void AddHandler(std::function<void(const schema::Kind& kind, bool served)> handler);
  // Those that are served now.
  std::vector<const schema::Kind*> Served() const;
  // A served kind in any of its versions; null if there is none.
  const schema::Kind* Find(std::string_view group, std::string_view version, std::string_view kind) const;
  // Versions ("group/version") that an APIService leads to a server for which is not available: what it has now is not known.
  const std::set<std::string>& unavailable() const { return unavailable_; }
  // Of the definitions: until it has synced, not all kinds are known.
  Informer& informer() { return definitions_; }

 private:
  struct Known;

  void Take(const object::Value& definition, bool gone);
  // The kind of that group and version with those names; made once.
  struct Names {
    std::string_view kind, plural, singular, list_kind;
    bool namespaced = false;
    uint32_t verbs = 0;
  };
  const schema::Kind& Intern(std::string_view group, std::string_view version, const Names& names);
  void TakeService(const object::Value& service, bool gone);
  Task<void> Discover(std::string service, std::string group, std::string version);
  void TakeDiscovered(const std::string& service, const object::Value& list);
  void Replace(const std::string& name, const schema::Kind* now);

  Informer& definitions_;
  std::shared_ptr<const schema::StructuralSchema> open_;   // the type of all of them
  std::map<std::string, std::unique_ptr<Known>> known_;    // by everything that makes a kind another one
  std::map<std::string, const schema::Kind*> served_;      // by the definition's name
  std::map<std::string, std::vector<const schema::Kind*>> versions_;
  std::vector<std::function<void(const schema::Kind&, bool)>> handlers_;
  Runtime* runtime_ = nullptr;
  std::unique_ptr<Client> client_;
  std::set<std::string> services_;  // APIServices whose kinds are known or asked for
  std::set<std::string> unavailable_;
  std::unique_ptr<TaskGroup> discovering_;
};

}  // namespace homeostat::sdk
