// The typed half of client.h.
#pragma once

#include "homeostat/sdk/client.h"

namespace homeostat::sdk {

template <class T>
Task<Result<Object<T>>> Client::Get(std::string ns, std::string name) const {
  auto call = Get(T::kind(), std::move(ns), std::move(name));
  CO_TRY_ASSIGN(object::DocumentPtr document, co_await std::move(call));
  co_return Object<T>(std::move(document));
}

template <class T>
Task<Result<Object<T>>> Client::Create(std::string ns, Object<T> object) const {
  auto call = Create(T::kind(), std::move(ns), object.document());
  CO_TRY_ASSIGN(object::DocumentPtr document, co_await std::move(call));
  co_return Object<T>(std::move(document));
}

template <class T>
Task<Result<Object<T>>> Client::Update(Object<T> object) const {
  auto call = Update(T::kind(), object.document(), std::string());
  CO_TRY_ASSIGN(object::DocumentPtr document, co_await std::move(call));
  co_return Object<T>(std::move(document));
}

template <class T>
Task<Result<Object<T>>> Client::UpdateStatus(Object<T> object) const {
  auto call = Update(T::kind(), object.document(), std::string("status"));
  CO_TRY_ASSIGN(object::DocumentPtr document, co_await std::move(call));
  co_return Object<T>(std::move(document));
}

template <class T>
Task<Result<void>> Client::Delete(std::string ns, std::string name, DeleteOptions options) const {
  return Delete(T::kind(), std::move(ns), std::move(name), std::move(options));
}

template <class T>
Task<Result<std::vector<Object<T>>>> Client::List(std::string ns, ListOptions options) const {
  auto call = List(T::kind(), std::move(ns), std::move(options));
  CO_TRY_ASSIGN(ListResult list, co_await std::move(call));
  std::vector<Object<T>> objects;
  objects.reserve(list.items.size());
  for (object::DocumentPtr& item : list.items) objects.emplace_back(std::move(item));
  co_return objects;
}

}  // namespace homeostat::sdk
