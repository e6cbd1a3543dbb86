import { describe, expect, test } from "vitest";
import { parseTokenFile, tokenDigest } from "./token-file.ts";

const find = (text: string, token: string) => parseTokenFile(text, "tokens.csv").get(tokenDigest(token));

describe("parseTokenFile", () => {
  test.each([
    ["t,jane,7", "t", { username: "jane", uid: "7", groups: ["system:authenticated"] }],
    ['t,jane,7,"a,b"', "t", { groups: ["a", "b", "system:authenticated"] }],
    ["t,jane,7,a", "t", { groups: ["a", "system:authenticated"] }],
    ["t,jane,7,", "t", { groups: ["system:authenticated"] }],
    ['"t,1","ja""ne",7', "t,1", { username: 'ja"ne' }],
    ["a,x,1\r\n\r\nt,jane,7\r\n", "t", { username: "jane" }],
    ["t,old,1\nt,jane,7", "t", { username: "jane" }],
    ["t,system:anonymous,1", "t", { groups: [] }],
  ])("%j", (text, token, expected) => {
    expect(find(text, token)).toMatchObject(expected);
  });

  test.each(["", "T", "t ", "tt", "t,jane"])("%j is not a known token", (token) => {
    expect(find("t,jane,7\n,empty,1", token)).toBeUndefined();
  });

  test.each([
    ["s3cr3t,jane", /line 1: must have at least 3 columns \(token, user name, user uid\), found 2/],
    ['ok,x,1\ns3cr3t,"jane,7', /line 2: unbalanced quotes/],
    ['s3cr3t,ja"ne,7', /line 1: unbalanced quotes/],
  ])("%j is refused without telling the token", (text, message) => {
    expect(() => find(text, "x")).toThrow(message);
    expect(() => find(text, "x")).not.toThrow(/s3cr3t/);
  });
});

test("tokens are not kept, and lookups take the time of a digest", () => {
  const tokens = parseTokenFile("s3cr3t-token,jane,7", "tokens.csv");
  expect(JSON.stringify([...tokens])).not.toContain("s3cr3t");
  // A prefix of the right token has nothing in common with it any more.
  const right = tokenDigest("s3cr3t-token");
  const close = tokenDigest("s3cr3t-tokem");
  expect(right).toHaveLength(close.length);
  expect([...right].filter((character, i) => character === close[i]).length).toBeLessThan(12);
});
