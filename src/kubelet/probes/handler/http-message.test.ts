import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createRequest,
  followRedirect,
  formatRequest,
  formatUrl,
  type HttpRequest,
  parseHttpResponse,
} from "./http-message.ts";

const address = { host: "10.0.0.7", port: 8080 };
const textOf = (request: HttpRequest) => {
  const formatted = formatRequest(request);
  return "text" in formatted ? formatted.text : formatted.problem;
};
const headers = (...pairs: [string, string][]) => pairs.map(([name, value]) => ({ name, value }));

test("sends the probe user agent and Connection: close", () => {
  expect(textOf(createRequest({ port: 8080, path: "/healthz" }, address))).toBe(
    "GET /healthz HTTP/1.1\r\nHost: 10.0.0.7:8080\r\nUser-Agent: kube-probe/1.36\r\nAccept: */*\r\n" +
      "Connection: close\r\n\r\n",
  );
});

describe("950-7 headers", () => {
  const rows: [string, [string, string][], string[]][] = [
    [
      "are sent as given",
      [
        ["X-A", "1"],
        ["x-a", "2"],
      ],
      ["X-A: 1", "x-a: 2", "User-Agent: kube-probe/1.36", "Accept: */*"],
    ],
    [
      "replace the defaults",
      [
        ["user-agent", "me"],
        ["accept", "text/plain"],
      ],
      ["user-agent: me", "accept: text/plain"],
    ],
    [
      "without a value take the defaults away",
      [
        ["Accept", ""],
        ["User-Agent", ""],
      ],
      [],
    ],
    [
      "that belong to the connection are left out",
      [
        ["Connection", "keep-alive"],
        ["Content-Length", "5"],
        ["Transfer-Encoding", "chunked"],
      ],
      ["User-Agent: kube-probe/1.36", "Accept: */*"],
    ],
  ];
  test.each(rows)("%s", (_name, pairs, expected) => {
    const request = createRequest({ port: 1, httpHeaders: headers(...pairs) }, address);
    const lines = textOf(request).split("\r\n");
    expect(lines.slice(2, -3)).toEqual(expected);
  });

  test("uses a Host header of the probe", () => {
    const request = createRequest({ port: 1, httpHeaders: headers(["host", "shop.example"]) }, address);
    expect(textOf(request)).toContain("\r\nHost: shop.example\r\n");
    expect(formatUrl(request)).toBe("http://10.0.0.7:8080/");
  });

  test("rejects line breaks in names and values", () => {
    const bad = (name: string, value: string) =>
      textOf(createRequest({ port: 1, httpHeaders: headers([name, value]) }, address));
    expect(bad("X-A", "1\r\nX-B: 2")).toBe('net/http: invalid header field value for "X-A"');
    expect(bad("Host", "a\nb")).toBe("http: invalid Host header");
    expect(bad("X\r\nY", "1")).toBe('net/http: invalid header field name "X\\r\\nY"');
  });
});

test.each([
  ["/healthz?full=1&x=%20", "/healthz?full=1&x=%20"],
  ["healthz", "/healthz"],
  ["", "/"],
  ["/a b", "/a%20b"],
  ["/100%", "/100%25"],
  ["/é/\ud800", "/%C3%A9/%EF%BF%BD"],
  ["/a\r\nX: y", "/a%0D%0AX:%20y"],
  ["/a#b", "/a"],
  ["//other.example/x", "/x"],
  ["http://other.example/x?y", "/x?y"],
  ["/a/../b", "/a/../b"],
])("requests the path %j as %j", (path, expected) => {
  expect(createRequest({ port: 1, path }, address).path).toBe(expected);
});

test("formats IPv6 addresses in brackets", () => {
  const request = createRequest({ port: 1, scheme: "HTTPS" }, { host: "fd00::7", port: 443 });
  expect(formatUrl(request)).toBe("https://[fd00::7]:443/");
  expect(textOf(request)).toContain("Host: [fd00::7]:443\r\n");
});

describe("redirects", () => {
  const request = createRequest(
    { port: 8080, path: "/a/b", httpHeaders: headers(["Host", "shop"]) },
    address,
  );
  const follows: [string, Partial<HttpRequest>][] = [
    ["/login?x=1", { path: "/login?x=1", port: 8080, hostHeader: "shop" }],
    ["c", { path: "/a/c", hostHeader: "shop" }],
    ["http://10.0.0.7:9090/x", { path: "/x", port: 9090, hostHeader: undefined }],
    ["http://10.0.0.7/x", { port: 80 }],
    ["https://10.0.0.7/x", { port: 443, scheme: "https" }],
  ];
  test.each(follows)("to %s on the same host is followed", (location, expected) => {
    const redirect = followRedirect(request, location);
    expect(redirect.kind === "follow" && redirect.request).toMatchObject({ host: "10.0.0.7", ...expected });
  });

  test.each(["http://10.0.0.8:8080/", "//other.example/", "http://169.254.169.254/latest"])(
    "to %s is not followed",
    (location) => expect(followRedirect(request, location)).toEqual({ kind: "otherHost" }),
  );

  test("to an invalid location fails", () => {
    expect(followRedirect(request, "http://[")).toMatchObject({ kind: "broken" });
    expect(followRedirect(request, "ftp://10.0.0.7/")).toEqual({
      kind: "broken",
      problem: 'unsupported protocol scheme "ftp"',
    });
  });

  test("on an IPv6 address stays on it", () => {
    const six = createRequest({ port: 80 }, { host: "fd00::7", port: 80 });
    expect(followRedirect(six, "http://[fd00:0::7]/x")).toMatchObject({
      kind: "follow",
      request: { host: "fd00::7" },
    });
  });
});

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
