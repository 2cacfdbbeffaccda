#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "homeostat/api/apps/v1_builders.h"
#include "homeostat/api/authentication/v1_builders.h"
#include "homeostat/api/core/v1_builders.h"

namespace homeostat::api {
namespace {

using object::Value;

object::DocumentPtr WebDeployment() {
  apps::v1::DeploymentBuilder builder;
  builder.mutable_metadata().set_name("web").set_labels("tier", "front").set_labels("app", "web");
  auto spec = builder.mutable_spec();
  spec.set_replicas(3);
  spec.mutable_selector().set_match_labels("app", "web");
  auto container = spec.mutable_template().mutable_spec().add_containers();
  container.set_name("web").set_image("example/web:1").add_args("--port").add_args("80");
  container.add_ports().set_container_port(80).set_protocol(core::v1::kProtocolTCP);
  container.mutable_resources().set_requests("memory", "64Mi").set_requests("cpu", "100m");
  return builder.Freeze();
}

TEST(Views, ReadWhatBuildersWrote) {
  object::DocumentPtr document = WebDeployment();
  apps::v1::Deployment deployment(document->root());
  EXPECT_EQ(deployment.kind(), "Deployment");
  EXPECT_EQ(deployment.api_version(), "apps/v1");
  EXPECT_EQ(deployment.metadata().name(), "web");
  EXPECT_EQ(deployment.spec().replicas(), 3);
  EXPECT_EQ(deployment.spec().selector().match_labels().Get("app"), "web");
  core::v1::PodSpec pod = deployment.spec().template_().spec();
  ASSERT_EQ(pod.containers().size(), 1u);
  for (core::v1::Container container : pod.containers()) {
    EXPECT_EQ(container.image(), "example/web:1");
    EXPECT_EQ(container.args()[1], "80");
    EXPECT_EQ(container.ports()[0].container_port(), 80);
    EXPECT_EQ(container.resources().requests().Get("cpu"), "100m");
  }
  std::vector<std::string> labels;
  for (auto [key, value] : deployment.metadata().labels()) labels.push_back(std::string(key) + "=" + std::string(value));
  EXPECT_EQ(labels, (std::vector<std::string>{"app=web", "tier=front"}));
}

TEST(Views, AbsentIsSafe) {
  apps::v1::Deployment nothing;
  EXPECT_FALSE(nothing);
  EXPECT_EQ(nothing.spec().replicas(), 0);
  EXPECT_FALSE(nothing.spec().has_replicas());
  EXPECT_TRUE(nothing.spec().template_().spec().containers().empty());
  EXPECT_EQ(nothing.spec().template_().spec().containers()[7].image(), "");
  EXPECT_FALSE(nothing.metadata().labels().contains("app"));
  EXPECT_EQ(nothing.metadata().labels().find("app"), nothing.metadata().labels().end());
  for (core::v1::Container container : nothing.spec().template_().spec().containers()) ADD_FAILURE() << container.name();
}

TEST(Views, WorkWithAlgorithms) {
  object::DocumentPtr document = WebDeployment();
  auto containers = apps::v1::Deployment(document->root()).spec().template_().spec().containers();
  auto found = std::ranges::find_if(containers, [](core::v1::Container container) { return container.name() == "web"; });
  ASSERT_NE(found, containers.end());
  EXPECT_EQ((*found).image(), "example/web:1");
}

TEST(Builders, ShareWhatIsUnchanged) {
  object::DocumentPtr stored = WebDeployment();
  apps::v1::DeploymentBuilder next(stored);
  EXPECT_FALSE(next.Changed());
  next.mutable_spec().set_replicas(3);
  next.mutable_metadata().set_labels("app", "web");
  EXPECT_FALSE(next.Changed()) << "setting what is already there is no change";
  EXPECT_EQ(next.Freeze()->root().members().data(), stored->root().members().data());

  next.mutable_spec().set_replicas(5);
  next.mutable_status().set_ready_replicas(2);
  EXPECT_TRUE(next.Changed());
  object::DocumentPtr changed = next.Freeze();
  stored.reset();
  apps::v1::Deployment after(changed->root());
  EXPECT_EQ(after.spec().replicas(), 5);
  EXPECT_EQ(after.status().ready_replicas(), 2);
  EXPECT_EQ(after.spec().template_().spec().containers()[0].image(), "example/web:1");
}

TEST(Builders, LeaveTheOriginalAlone) {
  object::DocumentPtr stored = WebDeployment();
  apps::v1::DeploymentBuilder next(stored);
  auto pod = next.mutable_spec().mutable_template().mutable_spec();
  pod.mutable_containers(0).set_image("example/web:2");
  pod.insert_containers(0).set_name("first");
  next.mutable_metadata().erase_labels("tier").set_annotations("note", "x");
  apps::v1::Deployment before(stored->root());
  EXPECT_EQ(before.spec().template_().spec().containers()[0].image(), "example/web:1");
  EXPECT_TRUE(before.metadata().labels().contains("tier"));
  apps::v1::Deployment after = next.View();
  ASSERT_EQ(after.spec().template_().spec().containers().size(), 2u);
  EXPECT_EQ(after.spec().template_().spec().containers()[0].name(), "first");
  EXPECT_EQ(after.spec().template_().spec().containers()[1].image(), "example/web:2");
  EXPECT_FALSE(after.metadata().labels().contains("tier"));
  EXPECT_EQ(after.metadata().annotations().Get("note"), "x");
}

TEST(Builders, KeepFieldOrderWhateverTheOrderOfCalls) {
  core::v1::ContainerBuilder builder;
  builder.set_image_pull_policy("Always").set_image("i").set_name("n");
  object::DocumentPtr document = builder.Freeze();
  std::vector<std::string_view> names;
  for (const object::Member& member : document->root().members()) {
    names.push_back(member.name());
    EXPECT_EQ(core::v1::Container::SchemaType().fields[member.field].name, member.name());
  }
  EXPECT_EQ(names, (std::vector<std::string_view>{"name", "image", "imagePullPolicy"}));
}

TEST(Builders, LeaveOutZeroValuesThatAreNoPointers) {
  apps::v1::DeploymentBuilder builder;
  builder.mutable_spec().set_replicas(0).set_min_ready_seconds(0);
  builder.mutable_status().set_replicas(0);
  builder.mutable_spec().mutable_template().mutable_metadata();
  object::DocumentPtr document = builder.Freeze();
  apps::v1::Deployment deployment(document->root());
  EXPECT_TRUE(deployment.spec().has_replicas()) << "a pointer keeps its zero";
  EXPECT_FALSE(deployment.spec().has_min_ready_seconds());
  EXPECT_FALSE(deployment.has_status());
  EXPECT_FALSE(deployment.spec().has_template());
}

TEST(Builders, PlainStructsLeftEmptyAreNoChange) {
  object::DocumentPtr stored = WebDeployment();
  apps::v1::DeploymentBuilder next(stored);
  next.mutable_status();
  EXPECT_FALSE(next.Changed());
  next.mutable_spec().mutable_template().mutable_spec().mutable_security_context();
  EXPECT_TRUE(next.Changed()) << "a pointer to an empty struct is there";
}

TEST(Builders, SetWholeSubtreesByCopyOrShared) {
  object::DocumentPtr stored = WebDeployment();
  core::v1::PodTemplateSpec source = apps::v1::Deployment(stored->root()).spec().template_();
  apps::v1::ReplicaSetBuilder copied;
  copied.mutable_spec().set_template(source);
  apps::v1::ReplicaSetBuilder shared;
  shared.mutable_spec().set_template(object::OwnedValue{stored, source.Raw()});
  object::DocumentPtr copy = copied.Freeze(), share = shared.Freeze();
  EXPECT_NE(apps::v1::ReplicaSet(copy->root()).spec().template_().Raw().members().data(), source.Raw().members().data());
  EXPECT_EQ(apps::v1::ReplicaSet(share->root()).spec().template_().Raw().members().data(), source.Raw().members().data());
  stored.reset();
  for (const auto& document : {copy, share}) {
    EXPECT_EQ(apps::v1::ReplicaSet(document->root()).spec().template_().spec().containers()[0].image(), "example/web:1");
  }
}

TEST(Builders, ListsAndMapsOfOtherThings) {
  authentication::v1::UserInfoBuilder user;
  object::Document extra;
  Value items[] = {Value::StringRef("a"), Value::StringRef("b")};
  user.set_extra("scopes", Value::List(items)).add_groups("x").add_groups("y").erase_groups(0);
  object::DocumentPtr document = user.Freeze();
  authentication::v1::UserInfo view(document->root());
  EXPECT_EQ(view.extra().Get("scopes")[1], "b");
  ASSERT_EQ(view.groups().size(), 1u);
  EXPECT_EQ(view.groups()[0], "y");

  core::v1::SecretBuilder secret;
  secret.set_data("key", std::string_view("\0\1", 2));
  object::DocumentPtr sealed = secret.Freeze();
  EXPECT_EQ(core::v1::Secret(sealed->root()).data().Get("key"), std::string_view("\0\1", 2));
  EXPECT_TRUE(sealed->root().Get("data").Get("key").IsBytes());
}

TEST(Builders, GoOnAfterAFreeze) {
  core::v1::ConfigMapBuilder builder;
  builder.set_data("a", "1");
  object::DocumentPtr first = builder.Freeze();
  builder.set_data("b", "2");
  object::DocumentPtr second = builder.Freeze();
  EXPECT_EQ(core::v1::ConfigMap(first->root()).data().size(), 1u);
  first.reset();
  EXPECT_EQ(core::v1::ConfigMap(second->root()).data().Get("a"), "1");
  EXPECT_EQ(core::v1::ConfigMap(second->root()).data().Get("b"), "2");
  object::Document other;
  other.set_root(builder.clear_data().FreezeInto(other.arena()));
  EXPECT_FALSE(core::v1::ConfigMap(other.root()).has_data());
  EXPECT_EQ(core::v1::ConfigMap(other.root()).kind(), "ConfigMap");
}

}  // namespace
}  // namespace homeostat::api
