// Node selectors and tolerations, under the names that the scheduler uses.
#pragma once

#include "sdk/node_selector.h"

namespace homeostat::scheduler {

using sdk::NodeSelector;
using sdk::NodeTerm;
using sdk::Taint;
using sdk::Tolerated;
using sdk::Toleration;

}  // namespace homeostat::scheduler
