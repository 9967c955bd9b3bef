// A proxy on loopback that adds the token: the conformance suite cannot send
// one. Everything else passes as it is, Host and Origin too.
// usage: node mcp-bearer.mjs URL TOKEN; prints its own URL
import http from "node:http";

const [target, token] = [new URL(process.argv[2]), process.argv[3]];
const server = http.createServer((req, res) => {
  const up = http.request(
    { host: target.hostname, port: target.port, path: req.url, method: req.method, setHost: false,
      headers: { ...req.headers, authorization: "Bearer " + token } },
    (answer) => { res.writeHead(answer.statusCode, answer.headers); answer.pipe(res); });
  up.on("error", () => res.destroy());
  res.on("close", () => up.destroy());
  req.pipe(up);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}${target.pathname}`));
