// The typed half of client.h.
#pragma once

#include "homeostat/sdk/client.h"

namespace homeostat::sdk {

namespace client_internal {

template <class T>
Task<Result<Object<T>>> Typed(Task<Result<object::DocumentPtr>> call) {
  CO_TRY_ASSIGN(object::DocumentPtr document, co_await std::move(call));
  co_return Object<T>(std::move(document));
}

template <class T>
Task<Result<std::vector<Object<T>>>> TypedList(Task<Result<ListResult>> call) {
  CO_TRY_ASSIGN(ListResult list, co_await std::move(call));
  std::vector<Object<T>> objects;
  objects.reserve(list.items.size());
  for (object::DocumentPtr& item : list.items) objects.emplace_back(std::move(item));
  co_return objects;
}

}  // namespace client_internal

template <class T>
Task<Result<Object<T>>> Client::Get(std::string ns, std::string name) const {
  return client_internal::Typed<T>(Get(T::SchemaKind(), std::move(ns), std::move(name)));
}

template <class T>
Task<Result<Object<T>>> Client::Create(std::string ns, Object<T> object) const {
  return client_internal::Typed<T>(Create(T::SchemaKind(), std::move(ns), object.document()));
}

template <class T>
Task<Result<Object<T>>> Client::Update(Object<T> object) const {
  return client_internal::Typed<T>(Update(T::SchemaKind(), object.document(), std::string()));
}

template <class T>
Task<Result<Object<T>>> Client::UpdateStatus(Object<T> object) const {
  return client_internal::Typed<T>(Update(T::SchemaKind(), object.document(), std::string("status")));
}

template <class T>
Task<Result<void>> Client::Delete(std::string ns, std::string name, DeleteOptions options) const {
  return Delete(T::SchemaKind(), std::move(ns), std::move(name), std::move(options));
}

template <class T>
Task<Result<std::vector<Object<T>>>> Client::List(std::string ns, ListOptions options) const {
  return client_internal::TypedList<T>(List(T::SchemaKind(), std::move(ns), std::move(options)));
}

}  // namespace homeostat::sdk
