#include "kinds/resource/device_selector.h"

#include <gtest/gtest.h>

namespace homeostat::kinds {
namespace {

std::string FaultOf(std::string_view expression) {
  FieldErrors errors;
  FieldPath path("e");
  CheckDeviceExpression(expression, path, errors);
  return errors.empty() ? "" : errors.causes().front().message;
}

TEST(CheckDeviceExpression, TakesWhatIsABool) {
  for (const char* good : {"true", "device.driver == 'd'", "device.attributes['d'].flag", "device.allowMultipleAllocations",
                           "device.capacity['d'].memory.compareTo(quantity('1Gi')) >= 0",
                           "cel.bind(d, device.attributes['x'], d.a && d.b)", "'x' in device.attributes"}) {
    EXPECT_EQ(FaultOf(good), "") << good;
  }
}

TEST(CheckDeviceExpression, SaysWhatIsWrong) {
  EXPECT_EQ(FaultOf("device.nope"),
            "Invalid value: \"device.nope\": compilation failed: ERROR: <input>:1:7: undefined field 'nope'\n | device.nope\n | ......^");
  EXPECT_EQ(FaultOf("1 + 1"), "Invalid value: \"1 + 1\": must evaluate to bool or the unknown type, not int");
  EXPECT_EQ(FaultOf(std::string(10 * 1024 + 1, 'x')), "Too long: may not be more than 10240 bytes");
  EXPECT_NE(FaultOf("object.x > 1").find("undeclared reference to 'object'"), std::string::npos);
  EXPECT_EQ(FaultOf("device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a == b && c == d))))"),
            "Forbidden: too complex, exceeds cost limit");
}

}  // namespace
}  // namespace homeostat::kinds
