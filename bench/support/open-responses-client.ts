/**
 * Opens COUNT responses of one URL, each on its own connection, until it is killed. bench/api.ts starts it as a separate process:
 * open-responses-client URL TOKEN COUNT BYTES. It prints a line when each response has BYTES bytes; with 0, it stops reading each
 * connection after the first chunk.
 */
import { connect } from "node:tls";

const [url = "", token = "", count = "0", bytes = "0"] = process.argv.slice(2);
const { hostname, port, pathname, search } = new URL(url);
const head = `GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
const wanted = Number(bytes);
const atOnce = 50;

function open(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () =>
      socket.write(head),
    );
    let received = 0;
    socket.on("error", reject);
    socket.on("data", (chunk: Buffer) => {
      if (received === 0 && !chunk.toString("latin1", 0, 13).startsWith("HTTP/1.1 200 "))
        reject(new Error(`${url} answered ${chunk.toString("latin1", 0, 300)}`));
      received += chunk.length;
      if (wanted === 0) socket.pause();
      if (received >= wanted) resolve();
    });
  });
}

for (let opened = 0; opened < Number(count); opened += atOnce)
  await Promise.all(Array.from({ length: Math.min(atOnce, Number(count) - opened) }, open));
console.log("open");
