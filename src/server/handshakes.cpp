// What the kernel knows of connections that are not there yet, asked through its socket diagnostics.
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "weir/server/worker.hpp"

namespace weir::server {
namespace {

struct Question {
  nlmsghdr header{};
  inet_diag_req_v2 request{};
};

// The first message of the answer is that there is nothing more exactly when there was nothing at all.
bool has_any(int netlink, unsigned char family, std::uint16_t port) noexcept {
  Question question;
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.request.sdiag_family = family;
  question.request.sdiag_protocol = IPPROTO_TCP;
  question.request.idiag_states = 1U << static_cast<unsigned>(TCP_SYN_RECV);
  question.request.id.idiag_sport = port;
  if (send(netlink, &question, sizeof question, MSG_DONTWAIT) != static_cast<ssize_t>(sizeof question)) return true;
  alignas(nlmsghdr) std::array<char, 16 * 1024> answer;
  auto const got = recv(netlink, answer.data(), answer.size(), MSG_DONTWAIT);
  nlmsghdr first{};
  if (got < static_cast<ssize_t>(sizeof first)) return true;
  std::memcpy(&first, answer.data(), sizeof first);
  return first.nlmsg_type != NLMSG_DONE;
}

}  // namespace

bool handshakes_under_way(int descriptor) noexcept {
  sockaddr_in6 bound{};  // in IPv4 addresses the port stands in the same place
  socklen_t size = sizeof bound;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return true;
  if (bound.sin6_family != AF_INET && bound.sin6_family != AF_INET6) return false;
  for (auto const family : {static_cast<unsigned char>(AF_INET), static_cast<unsigned char>(AF_INET6)}) {
    int const netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    bool const any = netlink < 0 || has_any(netlink, family, bound.sin6_port);
    if (netlink >= 0) close(netlink);
    if (any) return true;
  }
  return false;
}

}  // namespace weir::server
