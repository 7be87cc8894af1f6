// Stands before a server and cuts connections: those of the first streams break in the middle, at a place that moves. So a
// client shows that it goes on where it was. The argument is the URL of the server. Prints its own URL, and a line for each cut.

import { connect, createServer } from "node:net";

const CUTS = 4;
const { hostname, port } = new URL(process.argv[2]);
let cuts = 0;

createServer((client) => {
  const server = connect(Number(port), hostname);
  // The bytes of a stream that are let through.
  let left = Infinity;
  const both = [client, server];
  for (const socket of both) {
    socket.on("error", () => both.forEach((one) => one.destroy()));
    socket.on("close", () => both.forEach((one) => one.destroy()));
  }
  client.on("data", (bytes) => {
    // Other requests on the same connection are let through.
    left = Infinity;
    if (cuts < CUTS && bytes.includes("/events")) {
      left = 700 + 350 * cuts;
      cuts += 1;
    }
    server.write(bytes);
  });
  server.on("data", (bytes) => {
    client.write(bytes.subarray(0, Math.min(left, bytes.length)));
    left -= bytes.length;
    if (left > 0) return;
    console.log("cut");
    client.destroySoon();
  });
}).listen(0, "127.0.0.1", function () {
  console.log(`http://127.0.0.1:${this.address().port}`);
});
