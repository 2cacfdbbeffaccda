// FlowControl: every request gets its flow, and its turn (priority and fairness).
//
//   FlowControl::Pass pass(flow_control);
//   if (!pass.Enter(user, info)) { auto wait = pass.Wait(); if (!co_await std::move(wait)) …refused, see pass.retry_after() }
//
// Follows the objects of flowcontrol.apiserver.k8s.io; the two mandatory levels are there from the first moment. Loop only.
// Source of the rules: apiserver's util/flowcontrol and server/filters/priority-and-fairness.go.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "homeostat/base/http.h"
#include "homeostat/base/log.h"
#include "homeostat/sdk/client.h"
#include "kinds/behaviour.h"
#include "server/flow_control/fair_queues.h"
#include "server/flow_control/flow_rules.h"

namespace homeostat::server {

struct FlowControlOptions {
  int seats = 600;                                    // of the server, for all that is not exempt
  Duration longest_wait = std::chrono::seconds(15);   // in a queue
  Logger log;
};

class FlowControl {
 public:
  FlowControl(Runtime& runtime, const kinds::ObjectReader& objects, FlowControlOptions options);
  ~FlowControl();
  FlowControl(const FlowControl&) = delete;

  // The objects changed: looked at again in a later turn, once for however many changes.
  void Refresh();
  // From now on the status of the schemas is written with this client.
  void WriteStatusWith(sdk::Client client);

  // Documents for debugging; all are comma and tab separated tables.
  std::string DumpLevels() const;
  std::string DumpQueues() const;
  std::string DumpRequests(bool details) const;

  // One request's way through. Lives as long as the request; leaving gives the seat back.
  class Pass : private FlowTicket {
   public:
    explicit Pass(FlowControl* flow_control) : flow_control_(flow_control) {
      if (flow_control != nullptr) alive_ = flow_control->alive_;
    }
    ~Pass();

    // True: go on. False: Wait. user and info must outlive the pass.
    bool Enter(const User& user, const RequestInfo& info);
    // True: go on. False: there is no room.
    Task<bool> Wait();
    // Seconds after which a refused client may come again.
    int retry_after() const;
    // Says in the answer what the request was taken for.
    void Describe(http::Headers& headers) const;

   private:
    friend class FlowControl;
    FlowControl* flow_control_;
    std::weak_ptr<const bool> alive_;  // of a request that outlives the server, nothing is left to tell
    std::shared_ptr<const FlowRules> rules_;
    std::shared_ptr<FlowLevel> level_;
    const User* user_ = nullptr;
    const RequestInfo* info_ = nullptr;
    Signal* turn_ = nullptr;  // while it waits
    WallTime arrived_{};
    bool refused_ = false;
  };

 private:
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  // How often requests of a level were refused lately, and so how long clients are asked to stay away.
  struct Refusals {
    int64_t second = 0, count = 0, changed = 0;
    int retry_after = 1;
    std::vector<std::pair<int64_t, int64_t>> history;  // second, refused in it
  };

  void Digest();
  void DigestLevels();
  void DigestRules();
  Task<void> DigestLater();
  Task<void> WriteStatus();
  Task<Result<void>> ApplyStatus(std::string name, std::string level, bool dangling);
  // Gives seats that are free to those who wait.
  void Dispatch();
  void NoteRefusal(const std::string& level);
  static const Pass& PassOf(const FlowTicket& ticket) { return static_cast<const Pass&>(ticket); }

  Runtime& runtime_;
  const kinds::ObjectReader& objects_;
  FlowControlOptions options_;
  FlowSeats seats_;
  std::map<std::string, std::shared_ptr<FlowLevel>, std::less<>> levels_;
  std::vector<std::shared_ptr<const FlowRules>> rules_;   // in the order of matching; the last takes all
  std::vector<std::shared_ptr<FlowLevel>> level_of_;      // beside rules_
  std::map<std::string, Refusals, std::less<>> refusals_;
  int waiting_ = 0;
  bool refreshing_ = false, writing_ = false, write_again_ = false;
  std::optional<sdk::Client> client_;
  TaskGroup group_;
};

}  // namespace homeostat::server
