#include "weir/origin/pool.hpp"

namespace weir::origin {

using shield::FailureKind;

namespace {

FailureKind failure_of(wire::Dialled dialled) noexcept {
  switch (dialled) {
    case wire::Dialled::timeout:
      return FailureKind::connect_timeout;
    case wire::Dialled::not_resolved:
      return FailureKind::dns;
    default:
      return FailureKind::connect_refused;
  }
}

}  // namespace

Pool::Pool(asio::io_context& io, config::Origin const& settings, Address address, std::shared_ptr<asio::ssl::context> tls)
    : io_(io),
      settings_(settings),
      address_(std::move(address)),
      tls_(std::move(tls)),
      dialer_(io, {address_.host, address_.port, address_.unix_path}) {}

Pool::~Pool() = default;

std::unique_ptr<Connection> Pool::take_idle(base::Duration younger_than, base::SteadyTime now) {
  while (!idle_.empty()) {
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    if (now - connection->idle_since >= younger_than) {
      idle_.push_back(std::move(connection));  // the rest is older still
      return nullptr;
    }
    if (connection->stream->is_stale()) continue;
    connection->reused = true;
    return connection;
  }
  return nullptr;
}

asio::awaitable<Connected> Pool::connect(Want want, base::SteadyTime due) {
  auto const now = base::Clock::now();
  if (want != Want::new_only) {
    auto const limit = want == Want::fresh_enough ? std::min(fresh_for, settings_.pool.idle_time) : settings_.pool.idle_time;
    if (auto connection = take_idle(limit, now)) co_return Connected{std::move(connection)};
  }
  co_return co_await open(std::min(due, now + settings_.timeouts.connect));
}

asio::awaitable<Connected> Pool::open(base::SteadyTime due) {
  wire::Stream::Socket socket(io_);
  auto const dialled = co_await dialer_.connect(socket, due);
  if (dialled != wire::Dialled::connected) co_return Connected{nullptr, failure_of(dialled)};

  auto connection = std::make_unique<Connection>(std::make_shared<wire::Stream>(std::move(socket)));
  if (auto const tls = tls_) {  // a reload may take both while this waits
    connection->deadline.expires_at(due);
    std::string const name = settings_.tls.server_name.empty() ? address_.host : settings_.tls.server_name;
    auto const error = co_await connection->stream->start_tls_client(*tls, name);
    bool const late = connection->deadline.expired();
    connection->deadline.clear();
    if (error) co_return Connected{nullptr, late ? FailureKind::connect_timeout : FailureKind::tls};
  }
  co_return Connected{std::move(connection)};
}

void Pool::keep(std::unique_ptr<Connection> connection) {
  if (retired_) return;
  connection->deadline.clear();
  connection->idle_since = base::Clock::now();
  idle_.push_back(std::move(connection));
  if (idle_.size() > settings_.pool.idle) idle_.pop_front();
}

void Pool::close_idle() noexcept { idle_.clear(); }

bool Pool::same_peer(config::Origin const& settings) const noexcept {
  return settings.servers == settings_.servers && settings.tls.verify == settings_.tls.verify &&
         settings.tls.ca_file == settings_.tls.ca_file && settings.tls.server_name == settings_.tls.server_name;
}

void Pool::use(config::Origin const& settings, std::shared_ptr<asio::ssl::context> tls) {
  settings_ = settings;
  tls_ = std::move(tls);
  while (idle_.size() > settings_.pool.idle) idle_.pop_front();
}

void Pool::retire() noexcept {
  retired_ = true;
  close_idle();
}

void Pool::sweep(base::SteadyTime now) noexcept {
  while (!idle_.empty() && now - idle_.front()->idle_since >= settings_.pool.idle_time) idle_.pop_front();
}

std::shared_ptr<asio::ssl::context> make_tls_context(config::OriginTls const& settings) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  context->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                       asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
  if (!settings.ca_file.empty())
    context->load_verify_file(settings.ca_file);
  else
    context->set_default_verify_paths();
  context->set_verify_mode(settings.verify ? asio::ssl::verify_peer : asio::ssl::verify_none);
  return context;
}

}  // namespace weir::origin
