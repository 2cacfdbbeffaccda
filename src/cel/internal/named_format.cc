// format.dns1123Label() and the other named formats.
//
// Source of the rules: Kubernetes' cel/library/format.go and kube-openapi's strfmt.
#include "cel/internal/named_format.h"

#include <re2/re2.h>

#include "cel/internal/functions.h"
#include "cel/url.h"
#include "homeostat/object/names.h"
#include "homeostat/object/time.h"

namespace homeostat::cel::internal {

namespace {

using object::Messages;

bool Matches(std::string_view text, const char* pattern) {
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

bool IsDate(std::string_view text) { return text.size() == 10 && object::ParseTime(std::string(text) + "T00:00:00Z").has_value(); }

Messages Uri(std::string_view text) {
  auto url = ParseRequestUrl(text);
  return url ? Messages() : Messages{url.error()};
}
Messages Uuid(std::string_view text) {
  bool good = Matches(text, "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}");
  return good ? Messages() : Messages{"does not match the UUID format"};
}
Messages Byte(std::string_view text) {
  bool good = Matches(text, "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})");
  return good ? Messages() : Messages{"invalid base64"};
}
Messages Date(std::string_view text) { return IsDate(text) ? Messages() : Messages{"invalid date"}; }
Messages DateTime(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c |= 0x20;
  }
  size_t t = lower.find('t');
  bool good = t != std::string::npos && IsDate(lower.substr(0, t));
  if (good) {
    std::string time = lower.substr(t + 1);
    time = time.substr(0, time.find('t'));
    good = Matches(time, "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))");
  }
  return good ? Messages() : Messages{"invalid datetime"};
}

struct Format {
  std::string_view function;
  std::string_view name;
  uint64_t regex_size;
  Messages (*validate)(std::string_view);
};

constexpr Format kFormats[] = {
    {"dns1123Label", "DNS1123Label", 30, [](std::string_view s) { return object::NameIsDNSLabel(s, false); }},
    {"dns1123Subdomain", "DNS1123Subdomain", 60, [](std::string_view s) { return object::NameIsDNSSubdomain(s, false); }},
    {"dns1035Label", "DNS1035Label", 30, [](std::string_view s) { return object::NameIsDNS1035Label(s, false); }},
    {"qualifiedName", "QualifiedName", 60, object::IsQualifiedName},
    {"dns1123LabelPrefix", "DNS1123LabelPrefix", 30, [](std::string_view s) { return object::NameIsDNSLabel(s, true); }},
    {"dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", 60, [](std::string_view s) { return object::NameIsDNSSubdomain(s, true); }},
    {"dns1035LabelPrefix", "DNS1035LabelPrefix", 30, [](std::string_view s) { return object::NameIsDNS1035Label(s, true); }},
    {"labelValue", "LabelValue", 40, object::IsValidLabelValue},
    {"uri", "URI", 1103, Uri},
    {"uuid", "uuid", 70, Uuid},
    {"byte", "byte", 84, Byte},
    {"date", "date", 71, Date},
    {"datetime", "datetime", 71, DateTime},
};
constexpr size_t kFormatCount = std::size(kFormats);

class FormatValue final : public Opaque {
 public:
  explicit FormatValue(const Format& value) : format(value) {}
  std::string_view TypeName() const override { return "kubernetes.NamedFormat"; }
  std::optional<bool> Equal(const Opaque& other) const override {
    return format.name == static_cast<const FormatValue&>(other).format.name;
  }
  const Format& format;
};

template <size_t kIndex>
Value Constant(CallContext& context, std::span<const Value>) {
  return MakeOpaque(context.arena, FormatValue(kFormats[kIndex]));
}

Value Named(CallContext& context, std::span<const Value> args) {
  for (const Format& format : kFormats) {
    if (format.function == args[0].text()) return MakeOptional(context.arena, MakeOpaque(context.arena, FormatValue(format)));
  }
  return Value::Optional(nullptr);
}

Value Validate(CallContext& context, std::span<const Value> args) {
  Messages messages = static_cast<const FormatValue&>(args[0].opaque()).format.validate(args[1].text());
  if (messages.empty()) return Value::Optional(nullptr);
  std::vector<Value> items;
  for (const std::string& message : messages) items.push_back(MakeString(context.arena, message));
  return MakeOptional(context.arena, MakeList(context.arena, items));
}

template <size_t... kIndexes>
std::vector<Binding> AllBindings(std::index_sequence<kIndexes...>) {
  static const std::string names[] = {"format." + std::string(kFormats[kIndexes].function)...};
  return {{"format-named", Named}, {"format-validate", Validate}, {names[kIndexes], Constant<kIndexes>}...};
}

}  // namespace

uint64_t FormatRegexSize(const Value& format) {
  if (!format.IsOpaque() || format.TypeName() != "kubernetes.NamedFormat") return 0;
  return static_cast<const FormatValue&>(format.opaque()).format.regex_size;
}

std::span<const Binding> FormatBindings() {
  static const std::vector<Binding> bindings = AllBindings(std::make_index_sequence<kFormatCount>());
  return bindings;
}

}  // namespace homeostat::cel::internal
