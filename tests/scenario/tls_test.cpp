// TLS to clients (SPEC section 12, `listen[].tls`): who gets which certificate, what is agreed on, and that behind it
// requests and answers are what they are without it.
#include <gtest/gtest.h>

#include <unistd.h>

#include "scenario/answers.hpp"
#include "support/certificate.hpp"
#include "support/tls_client.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

constexpr auto good_handshakes = R"(weir_tls_handshakes_total{result="ok"})";
constexpr auto failed_handshakes = R"(weir_tls_handshakes_total{result="failed"})";

std::string files(Certificate const& certificate) {
  return "{cert: \"" + certificate.file() + "\", key: \"" + certificate.key_file() + "\"}";
}
std::string tls(std::string const& address, std::string const& certificates, std::string const& more = "") {
  return "{address: \"" + address + "\", tls: {certificates: [" + certificates + "]" + more + "}}";
}
std::string listen(Certificate const& certificate, std::string const& more = "") {
  return "listen: [" + tls("127.0.0.1:0", files(certificate), more) + "]\n";
}

std::string long_body() {
  std::string body;
  for (int i = 0; body.size() < 3'000'000; ++i) body += std::to_string(i) + " ";
  return body;
}

// FWD-1, KEY-1, KEY-2: the scheme is of the key, and the origin hears of it.
TEST(Tls, SchemesAreKeyedApart) {
  ScriptedOrigin origin;
  origin.answer("/x",
                [](Request const& request) { return respond(200, {max_age(60)}, request.value("X-Forwarded-Proto")); });
  Certificate const certificate({"weir.test"});
  Weir weir(origin.url(), "listen: [\"127.0.0.1:0\", " + tls("127.0.0.2:0", files(certificate)) + "]\n");
  TlsClient secure(weir.port(1), {.name = "weir.test", .connect = {.address = "127.0.0.2"}});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(get(weir.port(), "/x").body, "http");
    EXPECT_EQ(secure.get("/x").body, "https");
    EXPECT_EQ(secure.get("/x", {{"Host", "weir.test:443"}}).body, "https");
  }
  EXPECT_TRUE(cache_status(secure.get("/x")).hit());
  EXPECT_EQ(origin.calls("/x"), 2U);
  EXPECT_EQ(weir.outcome(observe::Outcome::hit), 8U);
  EXPECT_EQ(weir.metric(good_handshakes), 1);
}

TEST(Tls, TheNameInTheHandshakeChoosesTheCertificate) {
  ScriptedOrigin origin;
  Certificate const first({"a.test", "www.a.test"}), second({"*.b.test"}), third({"c.b.test"});
  auto const all = files(first) + ", " + files(second) + ", " + files(third);
  Weir weir(origin.url(), "listen: [" + tls("127.0.0.1:0", all) + "]\n");
  struct Row {
    char const *name, *shown;
  };
  for (auto const& [name, shown] : {Row{"", "a.test"}, Row{"a.test", "a.test"}, Row{"www.a.test", "a.test"},
                                    Row{"x.b.test", "*.b.test"}, Row{"X.B.Test", "*.b.test"}, Row{"c.b.test", "c.b.test"},
                                    Row{"b.test", "a.test"}, Row{"x.y.b.test", "a.test"}, Row{"unknown.test", "a.test"}})
    EXPECT_EQ(TlsClient(weir.port(), {.name = name}).certificate_name(), shown) << name;
}

TEST(Tls, OldVersionsAndWeakCiphersAreRefused) {
  ScriptedOrigin origin;
  Certificate const certificate({"weir.test"});
  Weir weir(origin.url(), listen(certificate));
  EXPECT_EQ(TlsClient(weir.port()).version(), "TLSv1.3");
  EXPECT_EQ(TlsClient(weir.port(), {.version = TLS1_2_VERSION}).version(), "TLSv1.2");
  EXPECT_FALSE(TlsClient(weir.port(), {.version = TLS1_1_VERSION}).is_connected());
  EXPECT_FALSE(TlsClient(weir.port(), {.version = TLS1_2_VERSION, .ciphers = "ECDHE-ECDSA-AES128-SHA"}).is_connected());
  Weir newest(origin.url(), listen(certificate, ", min_version: 1.3"));
  EXPECT_FALSE(TlsClient(newest.port(), {.version = TLS1_2_VERSION}).is_connected());
  EXPECT_TRUE(TlsClient(newest.port()).is_connected());
  ASSERT_TRUE(eventually([&] { return weir.metric(failed_handshakes) == 2 && newest.metric(failed_handshakes) == 1; }));
  EXPECT_EQ(weir.metric(good_handshakes), 2);
}

TEST(Tls, AgreesOnHttp11Alone) {
  ScriptedOrigin origin;
  Certificate const certificate({"weir.test"});
  Weir weir(origin.url(), listen(certificate));
  EXPECT_EQ(TlsClient(weir.port(), {.protocols = "\x02h2\x08http/1.1"}).protocol(), "http/1.1");
  EXPECT_EQ(TlsClient(weir.port()).protocol(), "");
  EXPECT_FALSE(TlsClient(weir.port(), {.protocols = "\x02h2"}).is_connected());
}

TEST(Tls, ASessionIsResumedAndNothingIsRenegotiated) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {}, "x"); });
  Certificate const certificate({"weir.test"});
  Weir weir(origin.url(), listen(certificate));
  for (int const version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient first(weir.port(), {.version = version});
    EXPECT_EQ(first.get("/x").body, "x");
    auto const session = first.session();
    TlsClient second(weir.port(), {.version = version, .resume = session.get()});
    EXPECT_TRUE(second.was_resumed()) << version;
    EXPECT_EQ(second.get("/x").body, "x");
  }
  TlsClient old(weir.port(), {.version = TLS1_2_VERSION});
  SSL_renegotiate(old.handle());
  EXPECT_NE(SSL_do_handshake(old.handle()), 1);
}

// COA-9, REQ-2: what a full socket left over goes out as it was begun, for a slow reader too: a miss, a hit, and pieces of
// it.
TEST(Tls, LongBodiesAreWholeForSlowReaders) {
  ScriptedOrigin origin;
  auto const body = long_body();
  origin.answer("/x", respond(200, {max_age(60)}, body));
  origin.answer("/chunked", respond_chunked(200, {max_age(60)}, {body.substr(0, 1'000'000), body.substr(1'000'000)}));
  Certificate const certificate({"weir.test"});
  Weir weir(origin.url(), listen(certificate));
  TlsClient client(weir.port(), {.connect = {.receive_buffer = 4096}});
  for (auto const* const target : {"/x", "/x", "/chunked", "/chunked"}) {
    auto const answer = client.get(target);
    ASSERT_TRUE(answer.body == body) << target << ": " << answer.raw.size() << " bytes, " << answer.raw.substr(0, 400);
  }
  EXPECT_EQ(client.get("/x", {{"Range", "bytes=1000000-1999999"}}).body, body.substr(1'000'000, 1'000'000));
  EXPECT_EQ(origin.calls(), 2U);
}

// REQ-2: uploads stream, pipelined requests are answered in order, whatever records they come in.
TEST(Tls, UploadsAndPipelines) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {}, request.target + " " + request.body); });
  Certificate const certificate({"weir.test"});
  Weir weir(origin.url(), listen(certificate));
  TlsClient client(weir.port());
  auto const body = long_body();
  client.send(write_request("POST", "/up", {}, body));
  auto const echo = client.read("POST");
  ASSERT_TRUE(echo.body == "/up " + body) << echo.raw.size() << " bytes: " << echo.raw.substr(0, 500);
  client.send(write_request("GET", "/1") + write_request("GET", "/2"));
  for (char const byte : write_request("GET", "/3") + write_request("GET", "/4")) client.send({&byte, 1});
  for (auto const* const target : {"/1 ", "/2 ", "/3 ", "/4 "}) EXPECT_EQ(client.read().body, target);
}

// SRV-7, COA-10: an end without a length is a clean one, and a break is none.
TEST(Tls, TheEndIsSaidWhereItIsTheEnd) {
  ScriptedOrigin origin;
  origin.answer("/whole", respond_until_close(200, {}, "whole"));
  origin.answer("/broken", respond_chunked(200, {}, {"bro", "ken"}).close_after(58));
  Certificate const certificate({"weir.test"});
  Weir weir(origin.url(), listen(certificate));
  TlsClient whole(weir.port()), broken(weir.port()), last(weir.port());
  whole.send("GET /whole HTTP/1.0\r\nHost: weir.test\r\n\r\n");
  auto const answer = whole.read();
  EXPECT_EQ(answer.body, "whole");
  EXPECT_EQ(answer.end, End::whole) << answer;
  broken.send("GET /broken HTTP/1.0\r\nHost: weir.test\r\n\r\n");
  EXPECT_EQ(broken.read().end, End::reset);
  EXPECT_EQ(last.get("/whole", {{"Connection", "close"}}).body, "whole");
  EXPECT_TRUE(last.ends_cleanly());
}

// REQ-3: a handshake has the time that a head has, and what began and never ends costs its own connection alone.
TEST(Tls, ASlowHandshakeIsCutOff) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {}, "x"); });
  Certificate const certificate({"weir.test"});
  Weir weir(origin.url(), listen(certificate));
  Client silent(weir.port()), half(weir.port()), plain(weir.port());
  half.send(std::string("\x16\x03\x01\x02\x00\x01\x00", 7));
  plain.send_request("GET", "/x");
  EXPECT_TRUE(plain.waits_until_closed());
  EXPECT_EQ(TlsClient(weir.port()).get("/x").body, "x");
  ASSERT_TRUE(eventually([&] { return weir.metric("weir_client_connections") == 2; }));
  EXPECT_FALSE(half.is_closed());
  weir.turn(11s);
  EXPECT_TRUE(half.waits_until_closed());
  EXPECT_TRUE(silent.waits_until_closed());
  ASSERT_TRUE(eventually([&] { return weir.metric("weir_client_connections") == 0; }));
  EXPECT_EQ(weir.metric(failed_handshakes), 2);  // who was silent has begun none
}

// REQ-3: who came first has no more time for the others that came since.
TEST(Tls, ASlowHandshakeIsCutOffInItsTurn) {
  ScriptedOrigin origin;
  Certificate const certificate({"weir.test"});
  Weir weir(origin.url(), listen(certificate) + "workers: 1\n");
  Client first(weir.port());
  ASSERT_TRUE(eventually([&] { return weir.metric("weir_client_connections") == 1; }));
  weir.turn(6s);
  Client second(weir.port());
  ASSERT_TRUE(eventually([&] { return weir.metric("weir_client_connections") == 2; }));
  first.send(std::string("\x16\x03\x01\x02\x00\x01\x00", 7));
  weir.turn(3s);
  EXPECT_FALSE(first.is_closed());
  weir.turn(2s);
  EXPECT_TRUE(first.waits_until_closed());
  EXPECT_FALSE(second.is_closed());
}

// REQ-3: a record that has begun is a head that has begun.
TEST(Tls, HalfARecordIsASlowHead) {
  ScriptedOrigin origin;
  Certificate const certificate({"weir.test"});
  Weir weir(origin.url(), listen(certificate));
  TlsClient client(weir.port());
  SSL_set0_wbio(client.handle(), BIO_new(BIO_s_mem()));
  client.send(write_request("GET", "/x"));
  char* bytes = nullptr;
  ASSERT_GT(BIO_get_mem_data(SSL_get_wbio(client.handle()), &bytes), 20);
  ASSERT_TRUE(client.socket().send_all({bytes, 20}));
  int due = 0;
  ASSERT_TRUE(eventually([&] {
    weir.turn(1s);
    return ++due > 5 && weir.metric("weir_client_connections") == 0;
  }));
  EXPECT_LT(due, 55);  // an idle connection has a minute
  EXPECT_EQ(client.read().status, 408);
  EXPECT_EQ(origin.calls(), 0U);
}

config::Loaded loaded(ScriptedOrigin const& origin, std::string const& yaml) {
  config::Sources sources;
  sources.file = "weir.yaml";
  sources.yaml = "version: 1\n" + yaml;
  sources.origin = origin.url();
  sources.set = {{"admin.listen", "127.0.0.1:0"}, {"workers", "2"}};
  return config::load(sources);
}

// LCY-1: what a certificate's files hold is told with its place, every mistake of it.
TEST(Tls, MistakesInFilesHaveAPlace) {
  ScriptedOrigin origin;
  Certificate const one({"a.test"}), other({"b.test"});
  auto const pair = [](std::string const& cert, std::string const& key) {
    return "{cert: \"" + cert + "\", key: \"" + key + "\"}";
  };
  auto const all = pair(one.file(), other.key_file()) + ", " + pair("/does/not/exist", one.key_file()) + ", " +
                   pair(one.key_file(), one.key_file()) + ", " + pair(one.file(), "/dev/zero") + ", " + files(one);
  auto const settings = loaded(origin, "listen: [" + tls("127.0.0.1:0", all) + "]\n").settings;
  ASSERT_TRUE(settings);
  std::vector<config::Mistake> mistakes;
  EXPECT_EQ(server::make_prefaces(*settings, mistakes).size(), 1U);
  ASSERT_EQ(mistakes.size(), 4U);
  std::string const first = mistakes[0].text(), place = "weir.yaml:2:56: listen[0].tls.certificates[0]: ";
  EXPECT_TRUE(first.starts_with(place)) << first;
  EXPECT_NE(first.find("`" + other.key_file() + "`"), std::string::npos) << first;
  EXPECT_EQ(mistakes[1].what, "no file `/does/not/exist`");
  EXPECT_NE(mistakes[2].what.find("holds no certificate"), std::string::npos) << mistakes[2].what;
  EXPECT_EQ(mistakes[3].what, "no file `/dev/zero`");
}

// LCY-2: new connections get the new certificate, those that are open go on; with a mistake nothing changes.
TEST(Tls, AReloadReadsCertificatesAgain) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {max_age(60)}, "x"));
  Certificate certificate({"old.test"});
  auto const yaml = listen(certificate);
  Weir weir(origin.url(), yaml);
  TlsClient before(weir.port());
  EXPECT_EQ(before.get("/x").body, "x");
  certificate.renew({"new.test"});
  EXPECT_EQ(TlsClient(weir.port()).certificate_name(), "old.test");
  EXPECT_TRUE(weir.reload(yaml).empty());
  EXPECT_EQ(TlsClient(weir.port()).certificate_name(), "new.test");
  EXPECT_EQ(before.get("/x").body, "x");
  ASSERT_EQ(::truncate(certificate.file().c_str(), 100), 0);
  auto const refused = weir.reload(yaml);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_TRUE(refused[0].starts_with("listen[0].tls.certificates[0]: `" + certificate.file())) << refused[0];
  TlsClient after(weir.port());
  EXPECT_EQ(after.certificate_name(), "new.test");
  EXPECT_EQ(after.get("/x").body, "x");
  EXPECT_EQ(origin.calls(), 1U);
}

}  // namespace
}  // namespace weir::test
