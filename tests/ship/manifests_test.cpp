// OBS-3, LCY-1: the compose file, its Prometheus and Grafana, and the Kubernetes manifests name files, ports and objects
// that are there. Whether Weir takes the configuration that they hold is asked of the program itself, by `run`.
#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>
#include <boost/json/parse.hpp>

#include "ship/shipped.hpp"

namespace weir::ship {
namespace {

using std::string;

string text_of(YAML::Node const& node) { return node.as<string>(""); }
string behind_colon(string const& text) { return text.substr(text.rfind(':') + 1); }
string before_colon(string const& text) { return text.substr(0, text.find(':')); }

YAML::Node docker(string const& name) { return YAML::Load(content(tree() / "docker" / name)); }

// Of a service and of what it is merged with.
YAML::Node of_service(YAML::Node const& service, char const* key) {
  if (service[key]) return service[key];
  return service["<<"] ? of_service(service["<<"], key) : YAML::Node();
}

TEST(Compose, MountsFilesThatAreThere) {
  YAML::Node const services = docker("compose.yaml")["services"];
  std::size_t mounts = 0;
  for (auto const& service : services) {
    for (auto const& volume : of_service(service.second, "volumes")) {
      ++mounts;
      EXPECT_TRUE(std::filesystem::exists(tree() / "docker" / before_colon(text_of(volume)))) << volume;
    }
    for (auto const& other : of_service(service.second, "depends_on")) EXPECT_TRUE(services[text_of(other)]) << other;
  }
  EXPECT_GE(mounts, 5U);
}

TEST(Compose, LetsPrometheusAskWhereTheNodesListen) {
  YAML::Node const compose = docker("compose.yaml");
  YAML::Node const nodes = docker("prometheus/prometheus.yml")["scrape_configs"][0]["static_configs"][0]["targets"];
  EXPECT_EQ(nodes.size(), 2U);
  for (auto const& target : nodes) {
    YAML::Node const service = compose["services"][before_colon(text_of(target))];
    ASSERT_TRUE(service) << target;
    auto const listen = text_of(of_service(service, "environment")["WEIR__ADMIN__METRICS_LISTEN"]);
    EXPECT_EQ(behind_colon(text_of(target)), behind_colon(listen));
  }
}

TEST(Compose, PublishesToThisMachineAlone) {
  for (auto const& service : docker("compose.yaml")["services"])
    for (auto const& port : of_service(service.second, "ports"))
      EXPECT_THAT(text_of(port), testing::StartsWith("127.0.0.1:")) << text_of(service.first);
}

TEST(Compose, GivesGrafanaItsDataSourceAndItsDashboard) {
  YAML::Node const compose = docker("compose.yaml")["services"];
  YAML::Node const source = docker("grafana/provisioning/datasources/prometheus.yaml")["datasources"][0];
  EXPECT_EQ(text_of(source["url"]), "http://prometheus:9090");
  EXPECT_TRUE(compose["prometheus"]);
  auto const folder = text_of(docker("grafana/provisioning/dashboards/weir.yaml")["providers"][0]["options"]["path"]);
  EXPECT_EQ(text_of(compose["grafana"]["volumes"][1]), "./grafana/dashboards:" + folder + ":ro");
  auto const interval = text_of(docker("prometheus/prometheus.yml")["global"]["scrape_interval"]);
  EXPECT_EQ(text_of(source["jsonData"]["timeInterval"]), interval);
  auto const dashboard = boost::json::parse(content(tree() / "docker/grafana/dashboards/weir.json"));
  EXPECT_EQ(dashboard.at("uid").as_string(), "weir");
}

TEST(Image, CopiesWhatIsThereAndOpensWhatWeirListensOn) {
  auto const file = content(tree() / "docker/Dockerfile");
  for (char const* source : {"docker/install", "docker/packages.txt"}) {
    EXPECT_THAT(file, testing::HasSubstr(source));
    EXPECT_TRUE(std::filesystem::exists(tree() / source));
  }
  EXPECT_THAT(file, testing::ContainsRegex("\nUSER [0-9]+:[0-9]+\n"));
  auto const port = behind_colon(text_of(YAML::Load(content(tree() / "config/weir.yaml"))["listen"][0]["address"]));
  EXPECT_THAT(file, testing::HasSubstr("\nEXPOSE " + port + "\n"));
}

struct Kubernetes {
  YAML::Node deployment = docker("kubernetes/deployment.yaml");
  YAML::Node pod = deployment["spec"]["template"];
  YAML::Node container = pod["spec"]["containers"][0];
  YAML::Node map = docker("kubernetes/configmap.yaml");
  YAML::Node config = YAML::Load(text_of(map["data"]["weir.yaml"]));
  std::vector<YAML::Node> service = YAML::LoadAll(content(tree() / "docker/kubernetes/service.yaml"));
  std::vector<YAML::Node> valkey = YAML::LoadAll(content(tree() / "docker/kubernetes/valkey.yaml"));

  string port(string const& name) const {
    for (auto const& port : container["ports"])
      if (text_of(port["name"]) == name) return text_of(port["containerPort"]);
    return {};
  }
};

TEST(Manifests, AreObjectsWithNames) {
  for (auto const& entry : std::filesystem::directory_iterator(tree() / "docker/kubernetes")) {
    for (auto const& object : YAML::LoadAll(content(entry.path()))) {
      for (char const* key : {"apiVersion", "kind", "metadata"}) EXPECT_TRUE(object[key]) << entry.path() << key;
      EXPECT_FALSE(text_of(object["metadata"]["name"]).empty()) << entry.path();
    }
  }
}

TEST(Manifests, ProbeTheListenerThatIsOpenForIt) {
  Kubernetes const k;
  EXPECT_EQ(k.port("http"), behind_colon(text_of(k.config["listen"][0])));
  EXPECT_EQ(k.port("metrics"), behind_colon(text_of(k.config["admin"]["metrics_listen"])));
  EXPECT_EQ(text_of(k.pod["metadata"]["annotations"]["prometheus.io/port"]), k.port("metrics"));
  YAML::Node const live = k.container["livenessProbe"]["httpGet"], ready = k.container["readinessProbe"]["httpGet"];
  EXPECT_EQ(text_of(live["path"]), "/healthz");
  EXPECT_EQ(text_of(ready["path"]), "/readyz");
  for (auto const& probe : {live, ready}) EXPECT_EQ(text_of(probe["port"]), "metrics");
}

TEST(Manifests, ReadTheConfigurationThatIsMounted) {
  Kubernetes const k;
  YAML::Node const mount = k.container["volumeMounts"][0], volume = k.pod["spec"]["volumes"][0];
  EXPECT_EQ(text_of(mount["name"]), text_of(volume["name"]));
  EXPECT_EQ(text_of(volume["configMap"]["name"]), text_of(k.map["metadata"]["name"]));
  EXPECT_EQ(text_of(k.container["args"][1]), text_of(mount["mountPath"]) + "/weir.yaml");
  hand_out("configmap.yaml", text_of(k.map["data"]["weir.yaml"]));
}

TEST(Manifests, SelectPodsThatAreThere) {
  Kubernetes const k;
  auto const app = text_of(k.pod["metadata"]["labels"]["app"]);
  EXPECT_EQ(text_of(k.deployment["spec"]["selector"]["matchLabels"]["app"]), app);
  EXPECT_EQ(text_of(k.service[0]["spec"]["selector"]["app"]), app);
  EXPECT_EQ(text_of(k.service[0]["spec"]["ports"][0]["targetPort"]), "http");
  EXPECT_EQ(text_of(k.service[1]["spec"]["selector"]["matchLabels"]["app"]), app);
  auto const address = text_of(k.config["store"]["address"]);
  EXPECT_EQ(address, text_of(k.valkey[0]["metadata"]["name"]) + ":" + text_of(k.valkey[0]["spec"]["ports"][0]["port"]));
  EXPECT_EQ(text_of(k.valkey[0]["spec"]["selector"]["app"]),
            text_of(k.valkey[1]["spec"]["template"]["metadata"]["labels"]["app"]));
}

// LCY-2: the kill comes after the pause in which endpoints are told and the drain, as shipped.
TEST(Manifests, LeaveTimeForADrain) {
  Kubernetes const k;
  auto const drain = YAML::Load(content(tree() / "config/weir.yaml"))["drain"]["timeout"].as<string>();
  ASSERT_TRUE(drain.ends_with('s')) << drain;
  int const pause = k.container["lifecycle"]["preStop"]["exec"]["command"][1].as<int>();
  EXPECT_GT(k.pod["spec"]["terminationGracePeriodSeconds"].as<int>(), std::stoi(drain) + pause);
  auto const compose = text_of(docker("compose.yaml")["x-image"]["stop_grace_period"]);
  EXPECT_GT(std::stoi(compose), std::stoi(drain));
}

}  // namespace
}  // namespace weir::ship
