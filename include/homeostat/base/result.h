// Result<T>: a value or the Status that says why there is none. The only way a function reports failure.
#pragma once

#include <expected>
#include <utility>

#include "homeostat/base/status.h"

namespace homeostat {

template <class T>
using Result = std::expected<T, Status>;

// Success without a value.
using Done = Result<void>;

// `return Fail(NotFoundError(…));` in a function that returns any Result.
inline std::unexpected<Status> Fail(Status status) { return std::unexpected<Status>(std::move(status)); }

}  // namespace homeostat

#define HOMEOSTAT_CONCAT_INNER(a, b) a##b
#define HOMEOSTAT_CONCAT(a, b) HOMEOSTAT_CONCAT_INNER(a, b)

// TRY(expression): leaves the function with the error if there is one. For Result of any value type; the value is dropped.
#define TRY(...)                                                              \
  do {                                                                        \
    if (auto try_result_ = (__VA_ARGS__); !try_result_) {                     \
      return ::homeostat::Fail(std::move(try_result_).error());               \
    }                                                                         \
  } while (false)

// TRY_ASSIGN(auto value, expression): declares value from the result, or leaves with the error.
#define TRY_ASSIGN(declaration, ...) TRY_ASSIGN_INNER(HOMEOSTAT_CONCAT(try_, __LINE__), return, declaration, __VA_ARGS__)

// The same inside coroutines. The awaited operand must be named first, as g++ 12 miscompiles some temporaries in co_await
// expressions: `auto read = stream.Read(…); CO_TRY_ASSIGN(size_t n, co_await std::move(read));`
#define CO_TRY(...)                                                           \
  do {                                                                        \
    auto try_result_ = (__VA_ARGS__);                                         \
    if (!try_result_) co_return ::homeostat::Fail(std::move(try_result_).error()); \
  } while (false)
#define CO_TRY_ASSIGN(declaration, ...) TRY_ASSIGN_INNER(HOMEOSTAT_CONCAT(try_, __LINE__), co_return, declaration, __VA_ARGS__)

#define TRY_ASSIGN_INNER(temporary, leave, declaration, ...)                  \
  auto temporary = (__VA_ARGS__);                                             \
  if (!temporary) leave ::homeostat::Fail(std::move(temporary).error());      \
  declaration = *std::move(temporary)
