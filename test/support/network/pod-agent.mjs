// Runs inside the network namespace of a test's pod: answers TCP and UDP on port 8080 with its name and the client's
// address, and connects to others on request. Requests and responses are lines of JSON.
import dgram from "node:dgram";
import net from "node:net";
import { createInterface } from "node:readline";

const [name] = process.argv.slice(2);
const plain = (address) => address.replace(/^::ffff:/, "");

net
  .createServer((socket) => {
    socket.on("error", () => {});
    socket.write(`${name} ${plain(socket.remoteAddress ?? "")}\n`);
    // A client that sends something gets it back, on a connection that stays open.
    socket.on("data", (data) => socket.write(data));
  })
  .listen(8080, "::");
const udp = dgram.createSocket("udp6");
udp.on("message", (_message, { address, port }) => udp.send(`${name} ${plain(address)}\n`, port, address));
udp.bind(8080, "::");

const kept = new Map();

/** Reads the first line that the other side sends. */
function tcp({ host, port, keep, timeoutMs = 2_000 }) {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port });
    const end = (result) => {
      clearTimeout(timer);
      socket.removeAllListeners("data");
      if (keep && result.text) kept.set(keep, socket);
      else socket.destroy();
      resolve(result);
    };
    const timer = setTimeout(() => end({ error: "timeout" }), timeoutMs);
    socket.on("error", ({ code }) => end({ error: code }));
    socket.once("data", (data) => end({ text: data.toString().trim() }));
  });
}

/** Sends a line on a connection that was kept, and reads the response. */
function again({ keep, timeoutMs = 60_000 }) {
  return new Promise((resolve) => {
    const socket = kept.get(keep);
    const timer = setTimeout(() => resolve({ error: "timeout" }), timeoutMs);
    socket.once("data", (data) => {
      clearTimeout(timer);
      resolve({ text: data.toString().trim() });
    });
    socket.write("still here\n");
  });
}

function udpOnce({ host, port, from = 0, timeoutMs = 2_000 }) {
  return new Promise((resolve) => {
    const socket = dgram.createSocket(host.includes(":") ? "udp6" : "udp4");
    const end = (result) => {
      clearTimeout(timer);
      socket.close();
      resolve(result);
    };
    const timer = setTimeout(() => end({ error: "timeout" }), timeoutMs);
    socket.on("error", ({ code }) => end({ error: code }));
    socket.on("message", (data) => end({ text: data.toString().trim() }));
    socket.bind(from, () => {
      // Connected, so that a rejection is reported.
      socket.connect(port, host, () => socket.send("?"));
    });
  });
}

const calls = { tcp, udp: udpOnce, again };
createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, call, args } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify({ id, result: await calls[call](args) })}\n`);
});
process.stdin.on("end", () => process.exit());
process.stdout.write("ready\n");
