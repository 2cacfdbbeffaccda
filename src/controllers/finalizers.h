// Parts of patches that controllers write themselves, and finalizers of any object: put on and taken off.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/base/bytes.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/editor.h"

namespace homeostat::controllers {

// "name":"text", as JSON has it.
void AppendMember(std::string& json, std::string_view name, std::string_view text);

bool HasFinalizer(const object::Value& object, std::string_view finalizer);
// A strategic merge patch that takes one off.
Bytes DropFinalizerPatch(std::string_view finalizer);

// Builder: of the object's kind.
template <class Builder>
object::DocumentPtr WithFinalizer(const object::DocumentPtr& document, std::string_view finalizer) {
  Builder next{schema::Subtree(document)};
  next.mutable_metadata().add_finalizers(finalizer);
  return next.Freeze();
}

template <class Builder>
object::DocumentPtr WithoutFinalizer(const object::DocumentPtr& document, std::string_view finalizer) {
  Builder next{schema::Subtree(document)};
  object::Value list = document->root().Path({"metadata", "finalizers"});
  auto metadata = next.mutable_metadata();
  for (size_t i = list.size(); i-- > 0;) {
    if (list.At(i).AsString() == finalizer) metadata.erase_finalizers(i);
  }
  return next.Freeze();
}

}  // namespace homeostat::controllers
