// url(): Kubernetes' cel/library/urls.go.
#include "cel/url.h"

#include "cel/internal/functions.h"

namespace homeostat::cel::internal {

namespace {

class UrlValue final : public Opaque {
 public:
  explicit UrlValue(Url value) : url(std::move(value)) {}
  std::string_view TypeName() const override { return "kubernetes.URL"; }
  std::optional<bool> Equal(const Opaque& other) const override {
    return url.ToString() == static_cast<const UrlValue&>(other).url.ToString();
  }
  std::string ToString() const override { return url.ToString(); }
  const Url url;
};

const Url& Of(const Value& value) { return static_cast<const UrlValue&>(value.opaque()).url; }

Value Parse(CallContext& context, std::span<const Value> args) {
  auto url = ParseRequestUrl(args[0].text());
  if (!url) return MakeError(context.arena, "URL parse error during conversion from string: " + url.error());
  return MakeOpaque(context.arena, UrlValue(std::move(*url)));
}
Value IsUrl(CallContext&, std::span<const Value> args) { return Value::Bool(ParseRequestUrl(args[0].text()).has_value()); }
Value Scheme(CallContext& context, std::span<const Value> args) { return MakeString(context.arena, Of(args[0]).scheme); }
Value Host(CallContext& context, std::span<const Value> args) { return MakeString(context.arena, Of(args[0]).host); }
Value Hostname(CallContext& context, std::span<const Value> args) { return MakeString(context.arena, Of(args[0]).Hostname()); }
Value Port(CallContext& context, std::span<const Value> args) { return MakeString(context.arena, Of(args[0]).Port()); }
Value Path(CallContext& context, std::span<const Value> args) { return MakeString(context.arena, Of(args[0]).EscapedPath()); }

Value Query(CallContext& context, std::span<const Value> args) {
  auto* map = MakeInArena<ArrayMap>(context.arena);
  for (const auto& [key, values] : Of(args[0]).Query()) {
    std::vector<Value> items;
    for (const std::string& value : values) items.push_back(MakeString(context.arena, value));
    map->Set(context.arena, MakeString(context.arena, key), MakeList(context.arena, items));
  }
  return Value::Of(static_cast<const Map*>(map));
}

}  // namespace

std::span<const Binding> UrlBindings() {
  static constexpr Binding kBindings[] = {
      {"string_to_url", Parse}, {"is_url_string", IsUrl}, {"url_get_scheme", Scheme}, {"url_get_host", Host},
      {"url_get_hostname", Hostname}, {"url_get_port", Port}, {"url_get_escaped_path", Path}, {"url_get_query", Query},
  };
  return kBindings;
}

}  // namespace homeostat::cel::internal
