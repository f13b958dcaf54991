// Passes requests on to a server that wants a token: the suite knows of none.
// node bearer.mjs PORT TARGET-PORT TOKEN
import http from "node:http";

const [port, target, token] = process.argv.slice(2);
http
  .createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    const passed = http.request(
      { host: "127.0.0.1", port: target, path: request.url, method: request.method, headers },
      (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      },
    );
    passed.on("error", () => response.destroy());
    response.on("close", () => passed.destroy());
    request.pipe(passed);
  })
  .listen(Number(port), "127.0.0.1", () => console.error("passing on"));
