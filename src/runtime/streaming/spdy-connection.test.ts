import { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { openSpdy } from "./spdy-connection.ts";
import { writePing } from "./spdy-frames.ts";

/** Client that sends pings and reads a response with each `takeOne`. */
function openFlooded() {
  let answers = 0;
  let taken: (() => void) | undefined;
  const pings = Buffer.concat(Array<Buffer>(100).fill(writePing(1)));
  const socket = new Duplex({
    highWaterMark: 1,
    read: () => void socket.push(pings),
    write(_chunk, _encoding, done) {
      answers++;
      taken = done;
    },
  });
  const limits = { maxStreams: 1, maxHeaderFrames: 1 };
  openSpdy({ socket, head: Buffer.alloc(0), ...limits, onOpen: () => undefined });
  return { socket, answers: () => answers, takeOne: () => taken?.() };
}

test("reads pings only as fast as the client reads the responses", async () => {
  const { socket, answers, takeOne } = openFlooded();
  for (let i = 1; i < 300; i++) {
    await expect.poll(answers, { interval: 1 }).toBe(i);
    expect(socket.writableLength).toBe(writePing(1).length);
    takeOne();
  }
  socket.destroy();
});

test("closes when the client disconnects before it has read the responses", async () => {
  const { socket, answers } = openFlooded();
  await expect.poll(answers).toBe(1);
  expect(socket.listenerCount("drain")).toBe(1);
  socket.destroy();
  await expect.poll(() => socket.listenerCount("drain")).toBe(0);
});
