// What the cache's tests share: a cache over a memory engine under virtual time, and a decoder that counts.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/await_for_tests.h"
#include "cache/cache.h"

namespace homeostat::cache::internal {

using homeostat::Await;
using homeostat::KeepResult;

class CacheFixture : public testing::Test {
 protected:
  // Starts anew, on an empty store.
  void Start(Options options = {}, uint64_t seed = 1) {
    cache_.reset();
    engine_.reset();
    runtime_ = SimulatedRuntime::Make(seed);
    engine_ = store::MakeMemoryEngine(*runtime_);
    cache_ = std::make_unique<Cache>(*runtime_, *engine_, options);
    cache_->SetDecoder("/registry/", MakeDecoder("first"));
    ASSERT_TRUE(Await(*runtime_, cache_->Start()));
  }
  // Gives {"by": NAME, "text": the stored bytes, "revision": revision}.
  Decoder MakeDecoder(std::string name) {
    return [this, name](const Bytes& stored, uint64_t revision) -> Result<object::DocumentPtr> {
      ++decoded_;
      if (stored.view() == "broken") return Fail(SystemError("broken bytes"));
      return MakeDocument(name, stored.view(), revision);
    };
  }
  static object::DocumentPtr MakeDocument(std::string_view by, std::string_view text, uint64_t revision) {
    auto document = std::make_shared<object::Document>();
    object::ObjectBuilder builder(document->arena());
    builder.Set("by", object::Value::String(document->arena(), by));
    builder.Set("text", object::Value::String(document->arena(), text));
    builder.Set("revision", object::Value::Int(static_cast<int64_t>(revision)));
    document->set_root(builder.Build());
    return document;
  }

  CommitResult Commit(std::string key, std::optional<std::string> value, store::Expectation expectation = {},
                      DocumentMaker document = nullptr) {
    store::Write write{.key = std::move(key), .expectation = expectation};
    if (value) write.value = Bytes(*std::move(value));
    auto result = Await(*runtime_, cache_->Commit(std::move(write), std::move(document)));
    EXPECT_TRUE(result) << result.error().message();
    return result.value_or(CommitResult());
  }
  CommitResult Delete(std::string key) { return Commit(std::move(key), std::nullopt); }

  static std::string Show(const Entry& entry) {
    return std::string(entry.key()) + "=" + entry.stored().str() + "@" + std::to_string(entry.revision());
  }
  static std::string Show(const Snapshot& snapshot) {
    std::string text = std::to_string(snapshot.revision) + ":";
    for (const EntryPtr& entry : snapshot.entries) text += " " + Show(*entry);
    return snapshot.remaining ? text + " +" + std::to_string(snapshot.remaining) : text;
  }
  static std::string Show(const WatchEvent& event) {
    std::string text = event.current ? (event.previous ? "~" : "+") + Show(*event.current) : "-" + Show(*event.deleted);
    return event.previous ? text + "<" + std::to_string(event.previous->revision()) : text;
  }
  // What has come, or the error's message.
  std::vector<std::string> Next(Watcher& watcher, Duration limit = Duration::zero()) {
    auto events = Await(*runtime_, watcher.Next(limit));
    if (!events) return {events.error().message()};
    std::vector<std::string> texts;
    for (const WatchEventPtr& event : *events) texts.push_back(Show(*event));
    return texts;
  }
  std::string ListAt(std::string prefix, uint64_t revision, Page page = {}) {
    auto snapshot = Await(*runtime_, cache_->ListAt(std::move(prefix), revision, std::move(page)));
    return snapshot ? Show(*snapshot) : snapshot.error().reason();
  }

  int decoded_ = 0;
  std::unique_ptr<SimulatedRuntime> runtime_;
  std::unique_ptr<store::Engine> engine_;
  std::unique_ptr<Cache> cache_;
};

}  // namespace homeostat::cache::internal
