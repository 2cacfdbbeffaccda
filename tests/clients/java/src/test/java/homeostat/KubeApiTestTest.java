package homeostat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fabric8.kubeapitest.junit.EnableKubeAPIServer;
import io.fabric8.kubeapitest.junit.KubeConfig;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.apiextensions.v1.CustomResourceDefinition;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The harness starts the server before the first test and kills it after the last one; the tests are what a Java operator asks of it. */
@EnableKubeAPIServer
class KubeApiTestTest {
  static KubernetesClient client;
  @KubeConfig static String kubeConfig;

  private static ConfigMap configMap(String name) {
    return new ConfigMapBuilder().withNewMetadata().withName(name).withNamespace("default").endMetadata().addToData("a", "1").build();
  }

  @Test
  void clientFromTheKubeconfigReadsWhatTheOtherWrote() {
    client.resource(configMap("one")).create();
    try (KubernetesClient other = new KubernetesClientBuilder().withConfig(Config.fromKubeconfig(kubeConfig)).build()) {
      assertEquals("1", other.configMaps().inNamespace("default").withName("one").get().getData().get("a"));
    }
  }

  @Test
  void conflictingUpdateIsRefused() {
    ConfigMap first = client.resource(configMap("two")).create();
    client.configMaps().inNamespace("default").withName("two").edit(c -> new ConfigMapBuilder(c).addToData("b", "2").build());
    KubernetesClientException refused =
        assertThrows(KubernetesClientException.class, () -> client.resource(new ConfigMapBuilder(first).addToData("c", "3").build()).update());
    assertEquals(409, refused.getCode());
  }

  @Test
  void watchSeesEveryChange() throws Exception {
    BlockingQueue<String> seen = new LinkedBlockingQueue<>();
    Watcher<ConfigMap> watcher = new Watcher<>() {
      @Override public void eventReceived(Action action, ConfigMap map) { seen.add(action + " " + map.getData()); }
      @Override public void onClose(WatcherException cause) { seen.add("closed"); }
    };
    try (var watch = client.configMaps().inNamespace("default").withName("three").watch(watcher)) {
      client.resource(configMap("three")).create();
      client.configMaps().inNamespace("default").withName("three").edit(c -> new ConfigMapBuilder(c).addToData("a", "2").build());
      client.configMaps().inNamespace("default").withName("three").delete();
      assertEquals("ADDED {a=1}", seen.poll(10, TimeUnit.SECONDS));
      assertEquals("MODIFIED {a=2}", seen.poll(10, TimeUnit.SECONDS));
      assertEquals("DELETED {a=2}", seen.poll(10, TimeUnit.SECONDS));
    }
  }

  @Test
  void informerFollows() throws Exception {
    try (var informer = client.configMaps().inNamespace("default").withLabel("of", "four").inform()) {
      ConfigMap made = new ConfigMapBuilder(configMap("four")).editMetadata().addToLabels("of", "four").endMetadata().build();
      client.resource(made).create();
      for (int i = 0; i < 100 && informer.getStore().list().isEmpty(); ++i) Thread.sleep(50);
      assertEquals("four", informer.getStore().list().get(0).getMetadata().getName());
    }
  }

  @Test
  void applyAndPatches() {
    String yaml = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: five, namespace: default}\nspec:\n  selector: {matchLabels: {app: five}}\n"
        + "  template:\n    metadata: {labels: {app: five}}\n    spec: {containers: [{name: web, image: web}]}\n";
    Deployment applied = (Deployment) client.resource(yaml).serverSideApply();
    assertEquals(1, applied.getSpec().getReplicas());
    var five = client.apps().deployments().inNamespace("default").withName("five");
    five.patch(PatchContext.of(PatchType.STRATEGIC_MERGE), "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"side\",\"image\":\"side\"}]}}}}");
    assertEquals(2, five.get().getSpec().getTemplate().getSpec().getContainers().size());
    five.patch(PatchContext.of(PatchType.JSON), "[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":3}]");
    assertEquals(3, five.get().getSpec().getReplicas());
    assertEquals(4, five.scale(4).getSpec().getReplicas());
  }

  @Test
  void customKind() throws Exception {
    String yaml = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: boats.example.com}\nspec:\n  group: example.com\n"
        + "  scope: Namespaced\n  names: {plural: boats, singular: boat, kind: Boat}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n"
        + "    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {seats: {type: integer, minimum: 1, default: 2}}}}}}\n";
    CustomResourceDefinition definition = (CustomResourceDefinition) client.resource(yaml).create();
    client.resource(definition).waitUntilCondition(d -> d.getStatus() != null && d.getStatus().getConditions() != null
        && d.getStatus().getConditions().stream().anyMatch(c -> c.getType().equals("Established") && c.getStatus().equals("True")), 10, TimeUnit.SECONDS);
    var boats = client.genericKubernetesResources(
        new ResourceDefinitionContext.Builder().withGroup("example.com").withVersion("v1").withKind("Boat").withPlural("boats").withNamespaced(true).build());
    GenericKubernetesResource boat = new GenericKubernetesResource();
    boat.setApiVersion("example.com/v1");
    boat.setKind("Boat");
    boat.setMetadata(configMap("six").getMetadata());
    boat.setAdditionalProperty("spec", Map.of());
    boats.resource(boat).create();
    assertEquals(Integer.valueOf(2), boats.inNamespace("default").withName("six").get().<Integer>get("spec", "seats"));
    boat.getMetadata().setName("seven");
    boat.setAdditionalProperty("spec", Map.of("seats", 0));
    assertEquals(422, assertThrows(KubernetesClientException.class, () -> boats.resource(boat).create()).getCode());
  }

  @Test
  void serverSaysWhatItIs() {
    assertEquals("1", client.getKubernetesVersion().getMajor());
    assertNotNull(client.getApiGroup("apps"));
    assertTrue(client.supports(Deployment.class));
    assertNull(client.namespaces().withName("none").get());
    client.resource(new NamespaceBuilder().withNewMetadata().withName("sea").endMetadata().build()).create();
    assertEquals("Active", client.namespaces().withName("sea").get().getStatus().getPhase());
  }
}
