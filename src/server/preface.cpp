// What comes before the first request on a connection: who the client is, where a proxy tells, and TLS. All of it within
// `limits.header_timeout`, and what fails is counted, not logged: anybody can make it fail.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "weir/proxy/client_address.hpp"
#include "weir/server/session.hpp"
#include "weir/server/worker.hpp"

namespace weir::server {
namespace {

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);

}  // namespace

std::vector<Preface> make_prefaces(config::Settings const& settings, std::vector<config::Mistake>& mistakes) {
  std::vector<Preface> prefaces;
  for (auto const& listen : settings.listen) {
    auto& preface = prefaces.emplace_back();
    preface.proxied = listen.proxy_protocol;
    if (!listen.tls) continue;
    auto const certificates = std::make_shared<wire::Certificates>(listen.tls->min_version == config::TlsVersion::v1_3);
    for (auto const& files : listen.tls->certificates) {
      auto wrong = certificates->add(files.cert, files.key);
      auto const& where = files.where;
      if (!wrong.empty()) mistakes.push_back({where.file, where.line, where.column, where.path, std::move(wrong)});
    }
    if (!certificates->empty()) preface.certificates = certificates;
  }
  return prefaces;
}

// False: the connection is over. Who sends nothing has begun nothing: others look whether we listen.
asio::awaitable<bool> Session::open(Preface const& preface) {
  auto const limit = base::Clock::now() + worker_.local().settings->limits.header_timeout;
  worker_.timekeeper().watch(*this, Limit::head, limit);
  idle_ = true;
  if (client_.retiring) retire();
  co_await client_.stream().wait_readable(tuple);
  idle_ = timed_out_ = false;
  bool good = client_.stream().has_bytes();
  worker_.timekeeper().watch(*this, Limit::head, limit);
  if (good && preface.proxied) good = co_await learn_client();
  if (good && preface.certificates) good = co_await shake_hands(*preface.certificates);
  Timekeeper::unwatch(*this);
  co_return good && !timed_out_;
}

// The address that a PROXY header tells is the client's in every respect. Whoever could send one from anywhere could be
// anybody, so it is believed from `trusted_proxies` and through a unix socket, whose file says who may.
asio::awaitable<bool> Session::learn_client() {
  auto& local = worker_.local();
  auto const& trusted = local.settings->trusted_proxies;
  wire::ProxyHeader header;
  if (client_.address == "unix" || proxy::in_networks(client_.address, trusted)) header = co_await read_proxy_header();
  if (header.step != wire::ProxyStep::ready) {
    local.metrics.proxy_header_failures.add();
    co_return false;
  }
  // FWD-1, PRG-3: a client whom the proxy does not name is a stranger, whatever the proxy itself may do.
  client_.unnamed = header.address.empty() && !header.own;
  if (!header.address.empty()) client_.address = std::move(header.address);
  judge_peer();
  admitted_ = worker_.connections().admit(client_.address);
  if (!admitted_) local.metrics.shed[static_cast<std::size_t>(observe::ShedReason::connections)].add();
  co_return admitted_;
}

// Takes not a byte of what follows it: that may be TLS.
asio::awaitable<wire::ProxyHeader> Session::read_proxy_header() {
  auto& stream = client_.stream();
  std::string bytes(wire::max_proxy_header, '\0');
  std::size_t taken = 0;
  for (;;) {
    auto const room = std::span(bytes).subspan(taken);
    auto const seen = stream.peek(room);
    if (seen.error == asio::error::would_block) {
      auto const [error] = co_await stream.wait_readable(tuple);
      if (error) co_return wire::ProxyHeader();
      continue;
    }
    if (seen.error) co_return wire::ProxyHeader();
    auto header = wire::read_proxy_header({bytes.data(), taken + seen.bytes});
    if (header.step == wire::ProxyStep::malformed) co_return header;
    bool const ready = header.step == wire::ProxyStep::ready;
    auto const got = stream.try_read(room.first(ready ? header.size - taken : seen.bytes));
    if (got.error) co_return wire::ProxyHeader();
    taken += got.bytes;
    if (ready) co_return header;
  }
}

asio::awaitable<bool> Session::shake_hands(wire::Certificates const& certificates) {
  auto const error = co_await client_.stream().start_tls_server(certificates.context());
  auto& metrics = worker_.local().metrics;
  (error ? metrics.tls_handshake_failures : metrics.tls_handshakes).add();
  client_.scheme = "https";
  co_return !error;
}

}  // namespace weir::server
