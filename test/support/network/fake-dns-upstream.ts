import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type Answer, decode, encode, type Question } from "dns-packet";

/** DNS server of a test that stands for those of the node. */
export interface FakeUpstream {
  readonly port: number;
  /** Questions in the order in which they arrived: `NAME TYPE`. */
  readonly questions: readonly string[];
  close(): Promise<void>;
}

export interface FakeReply {
  readonly rcode?: number;
  readonly answers?: readonly Answer[];
  readonly authorities?: readonly Answer[];
  /** Over UDP the response has no records and the TC flag. */
  readonly truncated?: boolean;
}

/** Replies to each question; undefined sends nothing. */
export async function startFakeUpstream(
  reply: (
    question: Question,
    raw: { readonly message: Buffer; readonly client: RemoteInfo; readonly socket: Socket },
  ) => FakeReply | undefined,
): Promise<FakeUpstream> {
  const questions: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (message, client) => {
    const response = respond(message, (question) => reply(question, { message, client, socket }), "udp");
    if (response) socket.send(response, client.port, client.address);
  });
  function respond(
    message: Buffer,
    replyTo: (question: Question) => FakeReply | undefined,
    proto: "udp" | "tcp",
  ): Buffer | undefined {
    const { id, questions: asked = [] } = decode(message);
    const [question] = asked;
    if (!question) return undefined;
    questions.push(`${question.name} ${question.type}`);
    const found = replyTo(question);
    if (!found) return undefined;
    const cut = found.truncated === true && proto === "udp";
    return encode({
      type: "response",
      id,
      flags: 0x180 | (found.rcode ?? 0) | (cut ? 0x200 : 0),
      questions: [question],
      answers: cut ? [] : [...(found.answers ?? [])],
      authorities: cut ? [] : [...(found.authorities ?? [])],
    });
  }

  const server = createServer((connection) => {
    connection.on("error", () => {});
    connection.on("data", (data) => {
      const response = respond(
        data.subarray(2),
        (question) =>
          reply(question, {
            message: data,
            client: { address: "", port: 0, family: "IPv4", size: 0 },
            socket,
          }),
        "tcp",
      );
      if (!response) return;
      const prefix = Buffer.alloc(2);
      prefix.writeUInt16BE(response.length);
      connection.end(Buffer.concat([prefix, response]));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  // TCP first: a random port is more often taken by a connection than by a UDP socket.
  const bound = once(socket, "listening");
  socket.bind(port, "127.0.0.1");
  await bound;
  return {
    port,
    questions,
    async close() {
      socket.close();
      server.close();
    },
  };
}
