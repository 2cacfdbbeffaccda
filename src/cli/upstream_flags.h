// Flags in the manner of the programs that homeostat stands in for: any flag of theirs is taken, and those that mean
// something here are looked up. Pure.
//
// As Go's flag packages read them: --name=value, --name value, -name as --name (etcd), a boolean without a value is true and
// never takes the next word.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"

namespace homeostat::cli {

struct UpstreamFlag {
  std::string_view name;
  bool boolean;
};

std::span<const UpstreamFlag> KubeApiserverFlags();
std::span<const UpstreamFlag> EtcdFlags();

// Parts that are not empty.
std::vector<std::string> SplitAtCommas(std::string_view text);

class UpstreamFlags {
 public:
  // An error, as people read it, for a flag that is not known, a value that is missing, and words that are no flags.
  static Result<UpstreamFlags> Parse(std::span<const UpstreamFlag> known, std::span<const std::string_view> words);

  bool help() const { return values_.contains("help"); }
  bool Has(std::string_view name) const { return values_.contains(name); }
  // The last one given counts.
  std::string Get(std::string_view name, std::string_view fallback = {}) const;
  // All that were given, as they were.
  std::vector<std::string> All(std::string_view name) const;
  // All that were given, each split at commas.
  std::vector<std::string> List(std::string_view name) const;
  // Those given that are not among the ones that are used here.
  std::vector<std::string> Others(std::span<const std::string_view> used) const;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

// What --help prints: a line a flag, so that harnesses find out what a program can.
std::string HelpText(std::string_view program, std::span<const UpstreamFlag> known, std::span<const std::string_view> used);

}  // namespace homeostat::cli
