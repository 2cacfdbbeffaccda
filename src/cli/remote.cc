#include "cli/remote.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "homeostat/api/registry.h"
#include "homeostat/base/files.h"
#include "homeostat/object/json.h"
#include "homeostat/object/yaml.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/sdk/client.h"
#include "homeostat/sdk/kubeconfig.h"
#include "homeostat/sdk/transport.h"
#include "homeostat/sdk/transport.h"

namespace homeostat::cli {
namespace {

using object::Value;

// Runs one task against the cluster of the kubeconfig; its result is the exit code.
int RunRemote(const RemoteOptions& remote, const std::function<Task<Result<void>>(sdk::Client&, const std::string& ns, Runtime&)>& work) {
  sdk::KubeconfigOptions where = sdk::KubeconfigOptions::FromEnvironment();
  if (!remote.kubeconfig.empty()) where.explicit_file = remote.kubeconfig;
  auto access = sdk::LoadClientConfig(where);
  if (!access) {
    fmt::print(stderr, "homeostat: {}\n", access.error().message());
    return 1;
  }
  std::unique_ptr<RealRuntime> runtime = RealRuntime::Make();
  int code = 0;
  {
    auto transport = sdk::MakeTransport(*runtime, *access);
    if (!transport) {
      fmt::print(stderr, "homeostat: {}\n", transport.error().message());
      return 1;
    }
    sdk::ClientOptions options;
    options.user_agent = "homeostat";
    options.field_manager = "homeostat";
    sdk::Client client(*transport, options);
    std::string ns = remote.ns.empty() ? access->ns : remote.ns;
    TaskGroup group(*runtime);
    auto run = [](const decltype(work)& task, sdk::Client& asked, std::string in, RealRuntime& loop, int& out) -> Task<void> {
      auto running = task(asked, in, loop);
      auto done = co_await std::move(running);
      if (!done) {
        fmt::print(stderr, "homeostat: {}\n", done.error().message());
        out = 1;
      }
      loop.Stop();
    };
    group.Spawn(run(work, client, ns, *runtime, code));
    runtime->Run();
  }
  return code;
}

const schema::Kind* FindKindOf(const Value& object) {
  auto [group, version] = schema::ParseApiVersion(object.Get("apiVersion").AsString());
  return api::FindKind(group, version, object.Get("kind").AsString());
}

// By plural, singular or short name.
const schema::Kind* FindResource(std::string_view name) {
  for (const schema::Kind* kind : api::AllKinds()) {
    bool named = kind->plural == name || kind->singular == name || std::ranges::find(kind->short_names, name) != kind->short_names.end();
    if (named && kind->served_by_default) return kind;
  }
  return nullptr;
}

Task<Result<void>> ApplyDocument(sdk::Client& client, std::string ns, std::string text, std::string file) {
  object::Arena arena;
  CO_TRY_ASSIGN(Value object, object::ParseYaml(arena, text));
  const schema::Kind* kind = FindKindOf(object);
  if (kind == nullptr) {
    co_return Fail(SystemError(file + ": no kind " + std::string(object.Get("kind").AsString()) + " in " +
                               std::string(object.Get("apiVersion").AsString())));
  }
  std::string name(sdk::meta::Name(object));
  if (!sdk::meta::Namespace(object).empty()) ns = sdk::meta::Namespace(object);
  auto patch = client.Patch(*kind, kind->namespaced ? ns : std::string(), name, sdk::PatchType::kApply, Bytes(std::move(text)), "",
                            {.field_manager = "homeostat", .force = true});
  auto applied = co_await std::move(patch);
  if (!applied) co_return Fail(applied.error().WithContext(file));
  fmt::print("{}/{} applied\n", kind->plural, name);
  co_return Done();
}

Task<Result<void>> ApplyFiles(sdk::Client& client, std::string ns, std::vector<std::string> files) {
  for (const std::string& file : files) {
    CO_TRY_ASSIGN(std::string text, ReadFile(file));
    for (std::string_view document : object::SplitYamlDocuments(text)) {
      auto apply = ApplyDocument(client, ns, std::string(document), file);
      CO_TRY(co_await std::move(apply));
    }
  }
  co_return Done();
}

std::string CellText(const Value& cell) {
  if (cell.IsString()) return std::string(cell.AsString());
  return cell.IsNull() ? "" : object::JsonText(cell);
}

// A table as columns of text.
void PrintTable(const Value& table) {
  std::vector<size_t> shown;
  std::vector<std::vector<std::string>> rows(1);
  Value columns = table.Get("columnDefinitions");
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns.At(i).Get("priority").AsInt() != 0) continue;
    shown.push_back(i);
    std::string title(columns.At(i).Get("name").AsString());
    std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
    rows[0].push_back(title);
  }
  for (const Value& row : table.Get("rows").items()) {
    auto& texts = rows.emplace_back();
    for (size_t i : shown) texts.push_back(CellText(row.Get("cells").At(i)));
  }
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      size_t width = 0;
      for (const auto& other : rows) width = std::max(width, other[c].size());
      line += c + 1 == row.size() ? row[c] : fmt::format("{:<{}}", row[c], width + 3);
    }
    fmt::print("{}\n", line);
  }
}

Task<Result<void>> GetTable(sdk::Client& client, std::string ns, std::string name) {
  const schema::Kind* kind = FindResource(name);
  if (kind == nullptr) co_return Fail(SystemError("no resource is called " + name));
  http::Request request;
  request.path = kind->gvk.group.empty() ? "/api/" : "/apis/" + std::string(kind->gvk.group) + "/";
  request.path += std::string(kind->gvk.version) + (kind->namespaced ? "/namespaces/" + ns : std::string()) + "/" + std::string(kind->plural);
  request.headers.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
  auto send = client.Raw(std::move(request));
  CO_TRY_ASSIGN(http::Response response, co_await std::move(send));
  int code = response.code;
  auto read = http::ReadAll(std::move(response), 64 << 20);
  CO_TRY_ASSIGN(Bytes body, co_await std::move(read));
  object::Arena arena;
  CO_TRY_ASSIGN(Value table, object::ParseJson(arena, body));
  if (code != 200) co_return Fail(SystemError(std::string(table.Get("message").AsString())));
  if (table.Get("rows").empty()) co_return Done();
  fmt::print("# {}\n", kind->plural);
  PrintTable(table);
  fmt::print("\n");
  co_return Done();
}

Task<Result<void>> GetTables(sdk::Client& client, std::string ns, std::string resources) {
  for (size_t start = 0; start < resources.size();) {
    size_t comma = std::min(resources.find(',', start), resources.size());
    auto get = GetTable(client, ns, resources.substr(start, comma - start));
    CO_TRY(co_await std::move(get));
    start = comma + 1;
  }
  co_return Done();
}

Task<Result<void>> WaitForCondition(sdk::Client& client, std::string ns, Runtime& runtime, std::string target, std::string condition,
                                    int seconds) {
  size_t slash = target.find('/');
  const schema::Kind* kind = FindResource(target.substr(0, slash));
  if (kind == nullptr || slash == target.npos) co_return Fail(SystemError("wait needs RESOURCE/NAME, not " + target));
  std::string name = target.substr(slash + 1);
  MonotonicTime end = runtime.Now() + std::chrono::seconds(seconds);
  while (true) {
    auto get = client.Get(*kind, kind->namespaced ? ns : std::string(), name);
    CO_TRY_ASSIGN(object::DocumentPtr object, co_await std::move(get));
    for (const Value& item : object->root().Path({"status", "conditions"}).items()) {
      if (item.Get("type").AsString() == condition && item.Get("status").AsString() == "True") {
        fmt::print("{} is {}\n", target, condition);
        co_return Done();
      }
    }
    if (runtime.Now() >= end) co_return Fail(SystemError(target + " is not " + condition + " after " + std::to_string(seconds) + " s"));
    auto pause = Sleep(runtime, std::chrono::milliseconds(200));
    co_await std::move(pause);
  }
}

}  // namespace

int RunApply(const RemoteOptions& remote, const std::vector<std::string>& files) {
  return RunRemote(remote, [&](sdk::Client& client, const std::string& ns, Runtime&) { return ApplyFiles(client, ns, files); });
}

int RunGet(const RemoteOptions& remote, const std::string& resources) {
  return RunRemote(remote, [&](sdk::Client& client, const std::string& ns, Runtime&) { return GetTables(client, ns, resources); });
}

int RunWait(const RemoteOptions& remote, const std::string& target, const std::string& condition, int seconds) {
  return RunRemote(remote, [&](sdk::Client& client, const std::string& ns, Runtime& runtime) {
    return WaitForCondition(client, ns, runtime, target, condition, seconds);
  });
}

}  // namespace homeostat::cli
