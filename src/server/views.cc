#include "server/views.h"

#include "server/body.h"
#include "server/custom/conversion.h"

namespace homeostat::server {

Task<Result<std::vector<cache::EntryPtr>>> ViewsOf(Parts& parts, const Resource& resource, std::vector<cache::EntryPtr> entries) {
  if (resource.conversion == nullptr) co_return entries;
  auto views = resource.conversion->Views(parts.caller, std::move(entries), *resource.kind);
  co_return co_await std::move(views);
}

Task<Result<cache::EntryPtr>> ViewOf(Parts& parts, const Resource& resource, cache::EntryPtr entry) {
  if (resource.conversion == nullptr || !entry) co_return entry;
  std::vector<cache::EntryPtr> one(1, std::move(entry));
  auto views = ViewsOf(parts, resource, std::move(one));
  CO_TRY_ASSIGN(std::vector<cache::EntryPtr> made, co_await std::move(views));
  co_return made.front();
}

const schema::Kind& StoredKind(const Resource& resource) {
  return resource.conversion == nullptr ? *resource.storage : resource.conversion->stored();
}

Task<Result<Value>> ToStoredForm(RequestContext& context, Value object) {
  Conversion* conversion = context.resource->conversion;
  if (conversion == nullptr || &conversion->stored() == context.resource->kind) {
    co_return WorkingToStored(context.arena(), *context.resource, object);
  }
  std::vector<Conversion::Item> items{{object, context.resource->kind}};
  auto convert = conversion->Convert(context.parts.caller, std::move(items), conversion->stored());
  CO_TRY_ASSIGN(std::vector<object::OwnedValue> converted, co_await std::move(convert));
  context.arena().Keep(converted.front().document);
  co_return converted.front().value;
}

}  // namespace homeostat::server
