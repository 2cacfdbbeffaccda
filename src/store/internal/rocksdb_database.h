// RocksDB behind a small interface: the only place that knows the library. Set up to be small, quick to open, and to
// refuse a damaged log rather than to skip over it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "homeostat/base/result.h"

namespace homeostat::store::internal {

// Its column families. kMeta holds a few settings, kLog the records, kIndex what is derived from them.
enum class Family : uint8_t { kMeta, kLog, kIndex };

class Database;

// Writes to one database that happen together or not at all. They are laid out as the database writes them, once.
class WriteBatch {
 public:
  // `bytes`: about how long keys and values are going to be, all together.
  explicit WriteBatch(const Database& database, size_t bytes = 0);
  ~WriteBatch();
  void Put(Family family, std::string_view key, std::string_view value);
  void Delete(Family family, std::string_view key);
  void DeleteAll(Family family);

 private:
  friend class Database;
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// Safe to use from any thread. A failure in the background (a flush or a compaction of files) ends the process.
class Database : public std::enable_shared_from_this<Database> {
 public:
  // Makes it if there is none. `directory` is what messages name; the database lives in its subfolder "rocksdb".
  static Result<std::shared_ptr<Database>> Open(const std::string& directory);
  ~Database();

  // Whether the family was not there and was made empty by Open.
  bool made(Family family) const;
  // With sync the batch is on the disk when this returns. An error leaves the state of the disk unknown.
  Result<void> Write(WriteBatch& batch, bool sync);

  // Writes what is kept in memory for later to files, if it is much, and forgets what was read.
  void Rest();

  // One consistent state, or what is newest at each call. Belongs to one thread at a time; keeps the database open.
  class Reading {
   public:
    using Visitor = std::function<Result<bool>(std::string_view key, std::string_view value)>;
    enum class Of : uint8_t { kState, kNewest };
    explicit Reading(std::shared_ptr<Database> database, Of of = Of::kState);
    ~Reading();
    Result<std::optional<std::string>> Get(Family family, std::string_view key);
    // Keys from start up to, without, end (empty: no bound), in order, until the visitor says no.
    Result<void> Scan(Family family, std::string_view start, std::string_view end, const Visitor& visitor);

   private:
    std::shared_ptr<Database> database_;
    const void* snapshot_;  // null for what is newest
  };

 private:
  friend class WriteBatch;
  struct Rep;
  explicit Database(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace homeostat::store::internal
