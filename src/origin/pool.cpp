#include "weir/origin/pool.hpp"

#include <algorithm>

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

Pool::Line::Line(asio::io_context& io, Address const& address)
    : dialer(io, {address.host, address.port, address.unix_path}) {}

Pool::Pool(asio::io_context& io, config::Origin const& settings, std::shared_ptr<Servers> servers,
           std::shared_ptr<asio::ssl::context> tls)
    : io_(io), settings_(settings), servers_(std::move(servers)), tls_(std::move(tls)) {
  for (std::size_t i = 0; i < servers_->size(); ++i) lines_.emplace_back(io, servers_->address(i));
}

Pool::~Pool() = default;

std::unique_ptr<Connection> Pool::take_idle(Line& line, base::Duration younger_than, base::SteadyTime now) {
  while (!line.idle.empty()) {
    auto connection = std::move(line.idle.back());
    line.idle.pop_back();
    if (now - connection->idle_since >= younger_than) {
      line.idle.push_back(std::move(connection));  // the rest is older still
      return nullptr;
    }
    if (connection->stream->is_stale()) continue;
    if (auto const generation = line.dialer.generation(); connection->generation != generation) {
      if (!line.dialer.leads_here(connection->stream->socket())) continue;  // the server has moved (REL-1)
      connection->generation = generation;
    }
    connection->reused = true;
    return connection;
  }
  return nullptr;
}

asio::awaitable<Connected> Pool::connect(Want want, base::SteadyTime due) {
  auto const limit = want == Want::fresh_enough ? std::min(fresh_for, settings_.pool.idle_time) : settings_.pool.idle_time;
  // A reload may put others in their place while this waits, of the same addresses.
  auto const servers = servers_;
  auto const tls = tls_;
  Connected connected;
  std::vector<bool> tried;
  for (;;) {
    auto const now = base::Clock::now();
    auto server = servers->choose(tried, now);
    if (!server) co_return std::move(connected);  // how the last one failed
    auto const index = server->index();
    if (want != Want::new_only) {
      connected.connection = take_idle(lines_[index], limit, now);
      if (connected.connection) lines_[index].dialer.renew(now);
    }
    if (!connected.connection) {
      std::string const name = settings_.tls.server_name;
      connected = co_await open_connection(io_, lines_[index].dialer, servers->address(index), tls.get(), name,
                                           std::min(due, now + settings_.timeouts.connect));
    }
    if (connected.connection) {
      connected.connection->server = std::move(*server);
      co_return std::move(connected);
    }
    auto const failed_at = base::Clock::now();
    server->tell(false, failed_at);
    if (failed_at >= due) co_return std::move(connected);
    tried.resize(servers->size());
    tried[index] = true;
  }
}

asio::awaitable<Connected> open_connection(asio::io_context& io, wire::Dialer& dialer, Address const& address,
                                           asio::ssl::context* tls, std::string const& server_name, base::SteadyTime due) {
  wire::Stream::Socket socket(io);
  auto const generation = dialer.generation();
  auto const dialled = co_await dialer.connect(socket, due);
  if (dialled != wire::Dialled::connected) co_return Connected{nullptr, failure_of(dialled)};

  auto connection = std::make_unique<Connection>(std::make_shared<wire::Stream>(std::move(socket)));
  connection->generation = generation;
  if (address.tls) {
    connection->deadline.expires_at(due);
    auto const& name = server_name.empty() ? address.host : server_name;
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
  auto& idle = lines_[connection->server.index()].idle;
  connection->server.end();
  try {
    idle.push_back(std::move(connection));
  } catch (std::bad_alloc const&) {
    return;  // it closes; what it brought is whole all the same
  }
  if (idle.size() > settings_.pool.idle) idle.pop_front();
}

void Pool::close_idle() noexcept {
  for (auto& line : lines_) line.idle.clear();
}

bool Pool::same_peer(config::Origin const& settings) const noexcept {
  return settings.servers == settings_.servers && settings.tls.verify == settings_.tls.verify &&
         settings.tls.ca_file == settings_.tls.ca_file && settings.tls.server_name == settings_.tls.server_name;
}

void Pool::use(config::Origin const& settings, std::shared_ptr<Servers> servers, std::shared_ptr<asio::ssl::context> tls) {
  settings_ = settings;
  servers_ = std::move(servers);
  tls_ = std::move(tls);
  for (auto& line : lines_)
    while (line.idle.size() > settings_.pool.idle) line.idle.pop_front();
}

void Pool::retire() noexcept {
  retired_ = true;
  close_idle();
}

void Pool::sweep(base::SteadyTime now) noexcept {
  for (auto& line : lines_)
    while (!line.idle.empty() && now - line.idle.front()->idle_since >= settings_.pool.idle_time) line.idle.pop_front();
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

config::Mistake tls_mistake(config::Origin const& origin, std::exception const& error) {
  auto const& where = origin.tls.ca_where;
  auto const path = where.path.empty() ? "origins." + origin.name + ".tls.ca_file" : where.path;
  return {where.file, where.line, where.column, path, "`" + origin.tls.ca_file + "`: " + error.what()};
}

void try_tls(config::Settings const& settings, std::vector<config::Mistake>& mistakes) {
  for (auto const& [name, origin] : settings.origins) {
    bool const by_tls = std::ranges::any_of(origin.servers, [](auto const& url) { return url.starts_with("https:"); });
    if (!by_tls) continue;
    try {
      make_tls_context(origin.tls);
    } catch (std::exception const& error) { mistakes.push_back(tls_mistake(origin, error)); }
  }
}

}  // namespace weir::origin
