#include "faults/shapes.hpp"

namespace weir::test {
namespace {

Script cached(Stage&, Request const& request) { return respond(200, {max_age(600)}, Stage::body_of(request.target)); }

std::string ask(Stage const& stage, Fields const& fields = {}) { return write_request("GET", stage.target(), fields); }

// A leader, two followers and a HEAD.
Shape cold() {
  Shape shape{"cold", plain, {}, {}, {}};
  shape.script = [](Stage& stage, Request const& request) {
    auto const body = Stage::body_of(request.target);
    return Script().wait(stage.gate).head(200, {max_age(600), {"Content-Length", std::to_string(body.size())}}).body(body);
  };
  shape.act = [](Stage& stage) {
    ask_at_once(stage.weir, {ask(stage), ask(stage), ask(stage)}, stage.body(), [&] { stage.open_when_waiting(3); });
  };
  return shape;
}

Shape hit() {
  Shape shape{"hit", plain, &cached, {}, {}};
  shape.prepare = [](Stage& stage) { get(stage.weir.port(), stage.target()); };
  shape.act = [](Stage& stage) {
    ask_at_once(stage.weir, {ask(stage) + ask(stage), ask(stage)}, stage.body());
    ask_at_once(stage.weir, {ask(stage, {{"Range", "bytes=5-9"}})}, stage.body().substr(5, 5));
  };
  return shape;
}

// A stale entry that the origin confirms, for two.
Shape validation() {
  Shape shape{"validation", plain, {}, {}, {}};
  shape.script = [](Stage&, Request const& request) {
    Fields const fields{max_age(10), {"ETag", "\"" + request.target + "\""}};
    return request.has("If-None-Match") ? respond(304, fields) : respond(200, fields, Stage::body_of(request.target));
  };
  shape.prepare = [](Stage& stage) {
    get(stage.weir.port(), stage.target());
    stage.weir.turn(20s);
  };
  shape.act = [](Stage& stage) { ask_at_once(stage.weir, {ask(stage), ask(stage)}, stage.body()); };
  return shape;
}

// Stale at once, and a refresh in the background.
Shape refresh() {
  auto shape = validation();
  shape.name = "refresh";
  shape.script = [](Stage&, Request const& request) {
    return respond(200, {{"Cache-Control", "max-age=10, stale-while-revalidate=600"}}, Stage::body_of(request.target));
  };
  return shape;
}

// A failing origin, and something stale to give instead.
Shape stale() {
  auto shape = validation();
  shape.name = "stale";
  shape.settings += "breaker: {enabled: off}\n";
  shape.script = [](Stage& stage, Request const& request) {
    if (stage.origin.calls(request.target) > 1) return respond(503, {{"Retry-After", "3"}}, "no");
    return respond(200, {{"Cache-Control", "max-age=10, stale-if-error=600"}}, Stage::body_of(request.target));
  };
  return shape;
}

Shape range() {
  Shape shape{"range", plain, &cached, {}, {}};
  shape.act = [](Stage& stage) {
    ask_at_once(stage.weir, {ask(stage, {{"Range", "bytes=100-199"}}), ask(stage, {{"Range", "bytes=100-199"}})},
                stage.body().substr(100, 100));
  };
  return shape;
}

// A body both ways, chunked, with a client that waits for its 100.
Shape upload() {
  Shape shape{"upload", plain, &cached, {}, {}};
  shape.act = [](Stage& stage) {
    auto const chunked =
        "POST " + stage.target() +
        " HTTP/1.1\r\nHost: weir.test\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n5\r\n"
        "first\r\n6\r\nsecond\r\n0\r\n\r\n";
    ask_at_once(stage.weir,
                {chunked, write_request("PUT", stage.target(), {{"Expect", "100-continue"}}, std::string(70'000, 'x'))},
                stage.body());
  };
  return shape;
}

Shape variants() {
  Shape shape{"variants", plain, {}, {}, {}};
  shape.script = [](Stage&, Request const& request) {
    return respond(200, {max_age(600), {"Vary", "Accept-Language"}}, Stage::body_of(request.target));
  };
  shape.act = [](Stage& stage) {
    for (auto const* const language : {"de", "fr"})
      ask_at_once(stage.weir, {ask(stage, {{"Accept-Language", language}}), ask(stage, {{"Accept-Language", "en"}})},
                  stage.body());
  };
  return shape;
}

Shape purge() {
  Shape shape{"purge", plain + "purge: {allow: [\"127.0.0.1\"]}\n", &cached, {}, {}};
  shape.prepare = [](Stage& stage) { get(stage.weir.port(), stage.target()); };
  shape.act = [](Stage& stage) {
    Burst purger(stage.weir.port(), 1);  // of a URL of its own, and of one that was purged in the runs before
    purger.send(write_request("PURGE", stage.target()) + write_request("PURGE", "/always"));
    purger.collect();
    ask_at_once(stage.weir, {ask(stage), write_request("DELETE", stage.target())}, stage.body());
  };
  return shape;
}

// More than may be stored, of unknown length: it streams through a window.
Shape stream() {
  Shape shape{"stream", plain + "storable: {max_object: 32KiB}\n", {}, {}, {}};
  shape.script = [](Stage&, Request const& request) {
    std::vector<std::string> pieces;
    for (int i = 0; i < 12; ++i) pieces.push_back(Stage::body_of(request.target));
    return respond_chunked(200, {max_age(600)}, pieces);
  };
  shape.act = [](Stage& stage) {
    std::string all;
    for (int i = 0; i < 12; ++i) all += stage.body();
    ask_at_once(stage.weir, {ask(stage), ask(stage)}, all);
  };
  return shape;
}

// Nobody may have what the other got: they look again, and each fetches.
Shape unshareable() {
  Shape shape{"unshareable", plain, {}, {}, {}};
  shape.script = [](Stage& stage, Request const& request) {
    auto const body = Stage::body_of(request.target);
    return Script()
        .wait(stage.gate)
        .head(200, {{"Set-Cookie", "a=b"}, max_age(60), {"Content-Length", std::to_string(body.size())}})
        .body(body);
  };
  shape.act = cold().act;
  return shape;
}

// An origin that resets each connection, and what is remembered of it.
Shape failing() {
  Shape shape{"failing", plain + "negative: {ttl: 5s}\nbreaker: {min_requests: 20, window: 10s}\n", {}, {}, {}, 502};
  shape.script = [](Stage&, Request const&) { return reset(); };
  shape.prepare = [](Stage& stage) { stage.weir.turn(70s); };
  shape.act = [](Stage& stage) { ask_at_once(stage.weir, {ask(stage), ask(stage), ask(stage)}, ""); };
  return shape;
}

Shape hints() {
  Shape shape{"hints", plain, {}, {}, {}};
  shape.script = [](Stage&, Request const& request) {
    auto const body = Stage::body_of(request.target);
    return Script()
        .send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n")
        .head(200, {max_age(600), {"Content-Length", std::to_string(body.size())}})
        .body(body);
  };
  shape.act = [](Stage& stage) { ask_at_once(stage.weir, {ask(stage), ask(stage)}, stage.body()); };
  return shape;
}

Shape tunnel() {
  Shape shape{"tunnel", plain, {}, {}, {}};
  shape.script = [](Stage&, Request const& request) {
    if (!request.has("Upgrade")) return respond(200, {max_age(600)}, Stage::body_of(request.target));
    return Script().send("HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nhello").close();
  };
  shape.act = [](Stage& stage) {
    auto socket = connect_to(stage.weir.port());
    socket.send_all(ask(stage, {{"Connection", "Upgrade"}, {"Upgrade", "websocket"}}) + "hello");
    socket.finish_sending();
    std::string all;
    auto got = Socket::Got::bytes;
    while (got == Socket::Got::bytes) got = socket.receive(all, 4'096);
    EXPECT_NE(got, Socket::Got::nothing);
    EXPECT_TRUE(all.ends_with("hello") || !must_be_whole) << all;
  };
  return shape;
}

// A read whose body is keyed.
Shape keyed_body() {
  Shape shape{"keyed_body",
              plain + "sites: [{routes: [{path: \"/*\", methods: [GET, POST], collapse: {key_body: true, ttl: 1s}}]}]\n",
              &cached,
              {},
              {}};
  shape.act = [](Stage& stage) {
    auto const post = write_request("POST", stage.target(), {{"Content-Type", "text/plain"}}, "a question");
    ask_at_once(stage.weir, {post, post}, stage.body());
  };
  return shape;
}

}  // namespace

std::vector<Shape> shapes() {
  std::vector<Shape> all{cold(),  hit(),    validation(),  refresh(), stale(), range(),  upload(),    variants(),
                         purge(), stream(), unshareable(), failing(), hints(), tunnel(), keyed_body()};
  auto workers = all.front();
  workers.name = "cold_two_workers";
  for (auto& shape : all) shape.settings += "workers: 1\n";  // one row of allocations, the same each time
  all.push_back(workers);
  return all;
}

}  // namespace weir::test
