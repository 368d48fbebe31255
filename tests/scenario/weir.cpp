#include "scenario/weir.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/post.hpp>

#include "weir/base/turned_clock.hpp"
#include "weir/config/load.hpp"

namespace weir::test {
namespace {

void look_again(boost::asio::io_context& io) {
  boost::asio::post(io, [&io] {
    auto const due = std::make_shared<boost::asio::basic_waitable_timer<base::Clock>>(io, base::SteadyTime::min());
    due->async_wait([due](boost::system::error_code) {});
  });
}

config::Loaded load(std::string const& origin_url, std::string const& yaml, std::string const& listen) {
  config::Sources sources;
  sources.file = "scenario.yaml";
  sources.yaml = "version: 1\n" + yaml;
  sources.origin = origin_url;
  if (!yaml.starts_with("listen:")) sources.listen = {listen};
  sources.set = {{"admin.listen", "127.0.0.1:0"}};
  if (yaml.find("workers:") == std::string::npos) sources.set.emplace_back("workers", "2");
  return config::load(sources);
}

config::Settings settings_for(std::string const& origin_url, std::string const& yaml, std::string const& listen) {
  auto loaded = load(origin_url, yaml, listen);
  std::string mistakes;
  for (auto const& mistake : loaded.mistakes) mistakes += mistake.text() + '\n';
  if (!loaded.settings) throw std::runtime_error("scenario settings: " + mistakes);
  return std::move(*loaded.settings);
}

}  // namespace

Weir::Weir(std::string const& origin_url, std::string const& yaml, std::string const& listen)
    : yaml_(std::make_shared<std::string>(yaml)),
      origin_url_(origin_url),
      listen_(listen),
      daemon_(std::make_unique<daemon::Daemon>(settings_for(origin_url, yaml, listen), [origin_url, listen, now = yaml_] {
        return load(origin_url, *now, listen);
      })) {
  std::signal(SIGPIPE, SIG_IGN);  // as main does
  auto const address = daemon_->addresses().front();
  if (!address.starts_with("unix:")) port_ = static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
}

Weir::~Weir() = default;

std::vector<std::string> Weir::reload(std::string const& yaml) {
  edit(yaml);
  std::vector<std::string> mistakes;
  for (auto const& mistake : daemon_->reload().mistakes) mistakes.push_back(mistake.path + ": " + mistake.what);
  return mistakes;
}

std::uint16_t Weir::port(std::size_t listen) const {
  auto const address = daemon_->addresses().at(listen);
  return static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
}

void Weir::turn(base::Duration by) {
  base::turn_clock(by);
  for (auto& worker : daemon_->workers()) look_again(worker->io());
}

bool Weir::waits_for_waiters(std::size_t count, Milliseconds bound) {
  return eventually([&] { return daemon_->flights().waiting() == count; }, bound);
}

bool Weir::waits_until_no_flights(Milliseconds bound) {
  return eventually([&] { return daemon_->flights().flights() == 0 && daemon_->shared().fetches_under_way.load() == 0; },
                    bound);
}

double Weir::metric(std::string const& sample) {
  auto const page = '\n' + daemon_->metrics().scrape();
  auto const at = page.find('\n' + sample + ' ');
  if (at == std::string::npos) {
    ADD_FAILURE() << "no sample " << sample;
    return -1;
  }
  return std::stod(page.substr(at + sample.size() + 2));
}

}  // namespace weir::test
