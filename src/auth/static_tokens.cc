#include "auth/static_tokens.h"

#include <fmt/format.h>

#include <vector>

#include "auth/service_account_tokens.h"

namespace homeostat::auth {
namespace {

using Record = std::vector<std::string>;

Status FaultAt(size_t line, std::string_view what) {
  return SystemError(fmt::format("the token file, line {}: {}", line, what));
}

// Reads records one after another; lines count from 1.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {}

  // False at the end of the text. Empty lines are no records.
  Result<bool> Next(Record& record) {
    record.clear();
    while (TakeLineEnd()) {
    }
    if (rest_.empty()) return false;
    start_ = line_;
    while (true) {
      TRY_ASSIGN(std::string field, rest_.starts_with('"') ? Quoted() : Plain());
      record.push_back(std::move(field));
      if (rest_.empty() || TakeLineEnd()) return true;
      rest_.remove_prefix(1);  // the comma: a field ends nowhere else
    }
  }
  // Of the last record's beginning.
  size_t line() const { return start_; }

 private:
  bool TakeLineEnd() {
    const size_t size = rest_.starts_with("\r\n") ? 2 : rest_.starts_with('\n') ? 1 : 0;
    rest_.remove_prefix(size);
    line_ += size > 0;
    return size > 0;
  }

  Result<std::string> Plain() {
    size_t end = std::min(rest_.find_first_of(",\n"), rest_.size());
    if (end < rest_.size() && rest_[end] == '\n' && end > 0 && rest_[end - 1] == '\r') --end;
    std::string field(rest_.substr(0, end));
    if (field.find('"') != field.npos) return Fail(FaultAt(line_, "a quote within a field that doesn't begin with one"));
    rest_.remove_prefix(end);
    return field;
  }

  Result<std::string> Quoted() {
    std::string field;
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"' && rest_.substr(i + 1).starts_with('"')) {
        field += '"';
        ++i;
      } else if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        if (rest_.empty() || rest_.starts_with(',') || rest_.starts_with('\n') || rest_.starts_with("\r\n")) return field;
        return Fail(FaultAt(line_, "text after a closing quote"));
      } else {
        line_ += rest_[i] == '\n';
        field += rest_[i];
      }
    }
    return Fail(FaultAt(start_, "a quote is not closed"));
  }

  std::string_view rest_;
  size_t line_ = 1, start_ = 1;
};

std::vector<std::string> SplitGroups(std::string_view text) {
  std::vector<std::string> groups;
  while (true) {
    const size_t comma = text.find(',');
    groups.emplace_back(text.substr(0, comma));
    if (comma == text.npos) return groups;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<StaticTokens> StaticTokens::Parse(std::string_view csv) {
  StaticTokens tokens;
  CsvReader reader(csv);
  Record record;
  while (true) {
    TRY_ASSIGN(bool more, reader.Next(record));
    if (!more) return tokens;
    if (record.size() < 3) {
      return Fail(FaultAt(reader.line(), fmt::format("a record needs 3 columns (token, user name, user uid), not {}", record.size())));
    }
    if (record[0].empty()) continue;
    User user;
    user.name = record[1];
    user.uid = record[2];
    if (record.size() > 3) user.groups = SplitGroups(record[3]);
    tokens.users_.insert_or_assign(record[0], std::move(user));
  }
}

const User* StaticTokens::Find(std::string_view token) const {
  auto found = users_.find(token);
  return found == users_.end() ? nullptr : &found->second;
}

Result<std::optional<User>> StaticTokens::Authenticate(const http::Request& request) {
  if (users_.empty()) return std::optional<User>();
  const User* user = Find(BearerToken(request));
  return user == nullptr ? std::optional<User>() : std::optional<User>(*user);
}

}  // namespace homeostat::auth
