// IPAddress and ServiceCIDR. Source of the rules: pkg/apis/networking/validation.
#include <algorithm>
#include <string>

#include "homeostat/api/networking/v1.h"
#include "homeostat/base/text.h"
#include "homeostat/object/ip.h"
#include "kinds/cells.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"
#include "kinds/networking/networking.h"

namespace homeostat::kinds {
namespace {

std::vector<std::string> AddressName(std::string_view name, bool) { return object::IsValidIP(name); }

void CheckAddress(RuleContext&, Value address, FieldErrors& errors) {
  FieldPath path = FieldPath("spec").Child("parentRef");
  Value parent = address.Path({"spec", "parentRef"});
  if (!parent) return errors.Required(path);
  std::string_view group = parent.Get("group").AsString(), ns = parent.Get("namespace").AsString();
  if (!group.empty()) CheckDns1123Subdomain(group, path.Child("group"), errors);
  for (std::string_view field : {"resource", "name"}) {
    std::string_view text = parent.Get(field).AsString();
    if (text.empty()) {
      errors.Required(path.Child(field));
    } else {
      CheckPathSegment(text, path.Child(field), errors);
    }
  }
  if (!ns.empty()) CheckPathSegment(ns, path.Child("namespace"), errors);
}

void CheckAddressUpdate(RuleContext& context, Value address, Value old, FieldErrors& errors) {
  CheckAddress(context, address, errors);
  CheckRestOfMetadata(context, errors);
  CheckImmutableInternal(api::networking::v1::IPAddressSpec::SchemaType(), "parentRef", address.Get("spec"), old.Get("spec"),
                         FieldPath("spec"), errors);
}

Value AddressCell(object::Arena& arena, std::string_view, Value address, WallTime) {
  Value parent = address.Path({"spec", "parentRef"});
  if (!parent) return Value::StringRef("<none>");
  std::string text(parent.Get("resource").AsString());
  if (std::string_view group = parent.Get("group").AsString(); !group.empty()) text += "." + std::string(group);
  text = LowerCase(text);
  if (std::string_view ns = parent.Get("namespace").AsString(); !ns.empty()) text += "/" + std::string(ns);
  return TextCell(arena, text + "/" + std::string(parent.Get("name").AsString()));
}

void CheckCidrs(const Value& spec, FieldErrors& errors) {
  FieldPath path = FieldPath("spec").Child("cidrs");
  Value cidrs = spec.Get("cidrs");
  if (cidrs.empty()) return errors.Required(path, "at least one CIDR required");
  if (cidrs.size() > 2) {
    return errors.Invalid(path, InternalValue(api::networking::v1::ServiceCIDRSpec::SchemaType(), spec), "may only hold up to 2 values");
  }
  for (size_t i = 0; i < cidrs.size(); ++i) {
    AddInvalid(errors, path.Index(i), cidrs.At(i), object::IsValidCIDR(cidrs.At(i).AsString()));
  }
  if (cidrs.size() < 2) return;
  auto first = object::ParseCidr(cidrs.At(0).AsString()), second = object::ParseCidr(cidrs.At(1).AsString());
  if (first && second && first->v4 == second->v4) {
    errors.Invalid(path, cidrs, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64");
  }
}

void CheckNewRange(RuleContext&, Value range, FieldErrors& errors) { CheckCidrs(range.Get("spec"), errors); }

void CheckRangeUpdate(RuleContext& context, Value range, Value old, FieldErrors& errors) {
  if (context.subresource == "status") return;
  FieldPath path = FieldPath("spec").Child("cidrs");
  Value now = range.Path({"spec", "cidrs"}), before = old.Path({"spec", "cidrs"});
  bool grown = before.size() == 1 && now.size() == 2;
  if (now.size() != before.size() && !grown) return errors.Invalid(path, now ? BadValue(now) : BadValue::Null(), kImmutable);
  for (size_t i = 0; i < before.size(); ++i) {
    if (now.At(i).AsString() != before.At(i).AsString()) errors.Invalid(path.Index(i), now.At(i), kImmutable);
  }
  if (grown) CheckCidrs(range.Get("spec"), errors);
}

}  // namespace

const Behaviour kIPAddress{.group = "networking.k8s.io", .kind = "IPAddress", .validate_name = AddressName, .names_as_given = true,
                           .validate_create = CheckAddress, .validate_update = CheckAddressUpdate, .cell = AddressCell};
const Behaviour kServiceCIDR{.group = "networking.k8s.io", .kind = "ServiceCIDR", .validate_create = CheckNewRange,
                             .validate_update = CheckRangeUpdate};

}  // namespace homeostat::kinds
