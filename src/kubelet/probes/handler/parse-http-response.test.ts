import fc from "fast-check";
import { expect, test } from "vitest";
import { parseHttpResponse } from "./parse-http-response.ts";

const more = { kind: "incomplete" };
const parse = (text: string, ended = false) => parseHttpResponse(Buffer.from(text), { ended });
const whole = (status: number, body: string, location?: string) => ({
  kind: "complete",
  status,
  location,
  body,
});
const broken = (part: string, problem: unknown) => ({ kind: "broken", part, problem });
const long = "x".repeat(10_240);

const rows: [string, string, boolean, object][] = [
  ["no bytes", "", false, { ...more, part: "head" }],
  ["half a status line", "HTT", false, { ...more, part: "head" }],
  ["half a head", "HTTP/1.1 200 OK\r\nA: b\r\n", false, { ...more, part: "head" }],
  ["a body of a given length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false, whole(200, "ok")],
  ["half a body", "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok", false, { ...more, part: "body" }],
  [
    "more bytes than Content-Length",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokay",
    false,
    whole(200, "ok"),
  ],
  [
    "a body without Content-Length on a closed connection",
    "HTTP/1.0 500 Oh\r\n\r\nbad",
    true,
    whole(500, "bad"),
  ],
  [
    "a body without Content-Length on an open connection",
    "HTTP/1.0 500 Oh\r\n\r\nbad",
    false,
    { ...more, part: "body" },
  ],
  ["no reason phrase", "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", false, whole(404, "")],
  ["no body by its status", "HTTP/1.1 204 No Content\r\n\r\n", false, whole(204, "")],
  ["bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", false, whole(200, "ok")],
  [
    "a location",
    "HTTP/1.1 302 Found\r\nLOCATION:  /x \r\nContent-Length: 0\r\n\r\n",
    false,
    whole(302, "", "/x"),
  ],
  [
    "an informational response before the final one",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    false,
    whole(200, ""),
  ],
  ["an informational response only", "HTTP/1.1 103 Early\r\n\r\n", false, { ...more, part: "head" }],
  ["another protocol", "HTTP/1.1 101 Switching\r\n\r\n", false, whole(101, "")],
  [
    "chunks",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
    false,
    whole(200, "ok0123456789"),
  ],
  [
    "half a chunk",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok",
    false,
    { ...more, part: "body" },
  ],
  [
    "a longer body than is read",
    `HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n${long}y`,
    false,
    whole(200, long),
  ],
  [
    "more chunks than are read",
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2801\r\n${long}`,
    false,
    whole(200, long),
  ],
  [
    "endless tiny chunks",
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\nz\r\n".repeat(3_000)}`,
    false,
    { kind: "complete", status: 200 },
  ],
  ["connection closed without a byte", "", true, broken("head", "EOF")],
  ["connection closed within the head", "HTTP/1.1 200", true, broken("head", "unexpected EOF")],
  [
    "connection closed within the body",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
    true,
    broken("body", "unexpected EOF"),
  ],
  [
    "connection closed within a chunk",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok",
    true,
    broken("body", "unexpected EOF"),
  ],
  [
    "not HTTP",
    "SSH-2.0-x\r\n",
    false,
    broken("head", 'net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0-x"'),
  ],
  [
    "a status that is not a number",
    "HTTP/1.1 abc\r\n\r\n",
    false,
    broken("head", expect.stringContaining("malformed HTTP response")),
  ],
  [
    "a Content-Length that is not a number",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    false,
    broken("head", 'bad Content-Length "-1"'),
  ],
  [
    "a chunk length that is not a number",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    false,
    broken("body", "invalid byte in chunk length"),
  ],
  [
    "an endless head",
    `HTTP/1.1 200 OK\r\n${"A: b\r\n".repeat(3_000)}`,
    false,
    broken("head", "server response headers exceeded 16384 bytes"),
  ],
];
test.each(rows)("%s", (_name, text, ended, expected) => {
  expect(parse(text, ended)).toMatchObject(expected);
});

test("parses the same result for any split of the input", () => {
  const text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n3\r\nyes\r\n0\r\n\r\n";
  for (let cut = 0; cut < text.length - 4; cut++) {
    expect(parse(text.slice(0, cut)).kind, `${cut} bytes`).toBe("incomplete");
  }
  expect(parse(text)).toEqual(whole(200, "okyes"));
});

test("parses any bytes without throwing, and an ended response is never incomplete", () => {
  const start = fc.constantFrom(
    "",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
  );
  fc.assert(
    fc.property(start, fc.uint8Array({ maxLength: 200 }), (head, rest) => {
      const bytes = Buffer.concat([Buffer.from(head), rest]);
      expect(parseHttpResponse(bytes, { ended: true }).kind).not.toBe("incomplete");
    }),
  );
});
