#include "admission/default_classes.h"

#include <algorithm>


namespace homeostat::admission {

using object::Value;

object::DocumentPtr FindDefaultClass(const kinds::ObjectReader& objects, std::string_view group, std::string_view plural,
                                     std::initializer_list<std::string_view> annotations) {
  object::DocumentPtr chosen;
  auto created = [](const object::DocumentPtr& document) { return document->root().Path({"metadata", "creationTimestamp"}).AsString(); };
  // They come in order of names.
  for (object::DocumentPtr& document : objects.List(group, plural, "")) {
    Value known = document->root().Path({"metadata", "annotations"});
    bool marked = std::ranges::any_of(annotations, [&](std::string_view name) { return known.Get(name).AsString() == "true"; });
    // Times are of one length and form, so that their texts compare.
    if (marked && (!chosen || created(document) > created(chosen))) chosen = std::move(document);
  }
  return chosen;
}

}  // namespace homeostat::admission
