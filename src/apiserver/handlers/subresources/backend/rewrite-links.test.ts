import { text } from "node:stream/consumers";
import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../../../../test/support/fuzz/rounds.ts";
import { createLinkRewriter, rewriteLink } from "./rewrite-links.ts";

const prefix = "/api/v1/namespaces/a/pods/b/proxy";
const context = { prefix, backendHost: "10.0.0.1:80", requestHost: "127.0.0.1:8001" };

test.each([
  ["/x?a=b#c", `${prefix}/x?a=b#c`],
  ["/", `${prefix}/`],
  ["x", "x"],
  ["", ""],
  ["#top", "#top"],
  ["mailto:a@b", "mailto:a@b"],
  ["http://10.0.0.1:80/x", `${prefix}/x`],
  ["//10.0.0.1:80/x", `${prefix}/x`],
  ["http://127.0.0.1:8001/x", `http://127.0.0.1:8001${prefix}/x`],
  ["http://other/x", "http://other/x"],
  ["//other/x", "//other/x"],
  ["http://10.0.0.1:80", "http://10.0.0.1:80"],
  [`${prefix}/x`, `${prefix}/x`],
])("%j becomes %j", (link, expected) => {
  expect(rewriteLink(link, context)).toBe(expected);
});

async function rewrite(html: string, chunkSize = html.length || 1): Promise<string> {
  const rewriter = createLinkRewriter(context);
  const written = text(rewriter);
  for (let at = 0; at < html.length; at += chunkSize) rewriter.write(html.slice(at, at + chunkSize));
  rewriter.end();
  return written;
}

const pages: [string, string][] = [
  ['<a href="/x">', `<a href="${prefix}/x">`],
  ["<A HREF='/x' title='/x'>", `<A HREF='${prefix}/x' title='/x'>`],
  ["<img alt=a src=/x.png>", `<img alt=a src=${prefix}/x.png>`],
  ['<img alt="a>b" src="/x">', `<img alt="a>b" src="${prefix}/x">`],
  ['<p href="/x">', '<p href="/x">'],
  ['<!-- <a href="/x"> -->', '<!-- <a href="/x"> -->'],
  [
    '<script src="/x">var a = "<a href=\'/y\'>";</script>',
    `<script src="${prefix}/x">var a = "<a href='/y'>";</script>`,
  ],
  ["<title><a href='/y'></title><a href='/x'>", `<title><a href='/y'></title><a href='${prefix}/x'>`],
  ["1 < 2 && 3 > 2 <", "1 < 2 && 3 > 2 <"],
  ["<a href=", "<a href="],
  ["<script>unfinished </scr", "<script>unfinished </scr"],
];

test.each(pages)("%s, also in pieces", async (html, expected) => {
  for (const size of [html.length, 7, 1]) expect(await rewrite(html, size)).toBe(expected);
});

test("other content passes byte for byte, in any pieces", async () => {
  const bytes = fc.array(
    fc.constantFrom("<", ">", "!", "-", "a", "/", " ", '"', "'", "=", "script", "\u00e9"),
  );
  const check = fc.asyncProperty(bytes, fc.integer({ min: 1, max: 9 }), async (words, size) => {
    const html = words.join("");
    const rewriter = createLinkRewriter(context);
    const written = text(rewriter.setEncoding("latin1"));
    const data = Buffer.from(html, "latin1");
    for (let at = 0; at < data.length; at += size) rewriter.write(data.subarray(at, at + size));
    rewriter.end();
    expect(await written).toBe(html);
  });
  await fc.assert(check, { numRuns: rounds(200) });
});

test("a tag that never ends is not kept", async () => {
  const html = `<a title="${"x".repeat(100_000)}`;
  expect(await rewrite(html, 10_000)).toBe(html);
});
