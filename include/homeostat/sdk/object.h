// Object<T>: a typed view together with what keeps it alive, as clients and caches hand objects out.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "homeostat/object/value.h"

namespace homeostat::sdk {

// A copy shares the tree. T is a generated view (homeostat/api/…); `pod->spec().node_name()`.
template <class T>
class Object {
 public:
  Object() = default;
  explicit Object(object::DocumentPtr document)
      : document_(std::move(document)), view_(document_ ? document_->root() : object::Value()) {}
  explicit operator bool() const { return document_ != nullptr; }
  const T* operator->() const { return &view_; }
  const T& operator*() const { return view_; }
  const object::DocumentPtr& document() const { return document_; }

 private:
  object::DocumentPtr document_;
  T view_;
};

// Parts of metadata that generic code needs of any object, read without knowing its kind.
namespace meta {
std::string_view Name(const object::Value& object);
std::string_view Namespace(const object::Value& object);
std::string_view Uid(const object::Value& object);
std::string_view ResourceVersion(const object::Value& object);
int64_t Generation(const object::Value& object);
bool IsDeleting(const object::Value& object);  // deletionTimestamp is set
object::Value Labels(const object::Value& object);
object::Value Annotations(const object::Value& object);
// The owner reference with controller: true, or absent.
object::Value ControllerOf(const object::Value& object);
// "namespace/name", or "name" for cluster-scoped objects: the key of work queues and listers.
std::string Key(const object::Value& object);
}  // namespace meta

// Splits a key made by meta::Key.
std::pair<std::string, std::string> SplitKey(std::string_view key);

}  // namespace homeostat::sdk
