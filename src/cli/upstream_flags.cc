#include "cli/upstream_flags.h"

#include <fmt/format.h>

#include <algorithm>

namespace homeostat::cli {

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (end > at) parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

Result<UpstreamFlags> UpstreamFlags::Parse(std::span<const UpstreamFlag> known, std::span<const std::string_view> words) {
  UpstreamFlags flags;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (!word.starts_with('-') || word == "-" || word == "--") {
      return Fail(SystemError(fmt::format("unknown command \"{}\": only flags are expected", word)));
    }
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    const size_t equals = word.find('=');
    std::string name(word.substr(0, equals));
    if (name == "h") name = "help";
    auto flag = std::ranges::find(known, std::string_view(name), &UpstreamFlag::name);
    const bool help = name == "help";
    if (flag == known.end() && !help) return Fail(SystemError("unknown flag: --" + name));
    std::string value = "true";
    if (equals != word.npos) {
      value = word.substr(equals + 1);
    } else if (!help && !flag->boolean) {
      if (++i == words.size()) return Fail(SystemError("flag needs an argument: --" + name));
      value = words[i];
    }
    flags.values_[name].push_back(std::move(value));
  }
  return flags;
}

std::string UpstreamFlags::Get(std::string_view name, std::string_view fallback) const {
  auto found = values_.find(name);
  return found == values_.end() ? std::string(fallback) : found->second.back();
}

std::vector<std::string> UpstreamFlags::All(std::string_view name) const {
  auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::vector<std::string> UpstreamFlags::List(std::string_view name) const {
  std::vector<std::string> list;
  for (const std::string& value : All(name)) {
    for (std::string& part : SplitAtCommas(value)) list.push_back(std::move(part));
  }
  return list;
}

std::vector<std::string> UpstreamFlags::Others(std::span<const std::string_view> used) const {
  std::vector<std::string> others;
  for (const auto& [name, values] : values_) {
    if (std::ranges::find(used, std::string_view(name)) == used.end() && name != "help") others.push_back(name);
  }
  return others;
}

std::string HelpText(std::string_view program, std::span<const UpstreamFlag> known, std::span<const std::string_view> used) {
  std::string text = fmt::format("homeostat in the place of {}. Flags that mean nothing here are taken and passed over.\n\nUsage:\n  {} [flags]\n\nFlags:\n",
                                 program, program);
  for (const UpstreamFlag& flag : known) {
    const bool means = std::ranges::find(used, flag.name) != used.end();
    text += fmt::format("      --{}{}{}\n", flag.name, flag.boolean ? "" : " string", means ? "" : "   (no effect)");
  }
  return text;
}

}  // namespace homeostat::cli
