import { describe, expect, test } from "vitest";
import { goSyntaxError } from "./decode-error.ts";

describe("goSyntaxError", () => {
  test.each([
    ["", "unexpected end of JSON input"],
    ["{", "unexpected end of JSON input"],
    ['{"a', "unexpected end of JSON input"],
    ['{"a":', "unexpected end of JSON input"],
    ["x", "invalid character 'x' looking for beginning of value"],
    ['{"a":x}', "invalid character 'x' looking for beginning of value"],
    ["{x", "invalid character 'x' looking for beginning of object key string"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{"a"x', "invalid character 'x' after object key"],
    ['{"a":1 "b"', "invalid character '\"' after object key:value pair"],
    ["[1 2]", "invalid character '2' after array element"],
    ["{} x", "invalid character 'x' after top-level value"],
  ])("%s", (text, expected) => {
    let error: unknown;
    try {
      JSON.parse(text);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(SyntaxError);
    expect(goSyntaxError(error as SyntaxError, text)).toBe(expected);
  });
});
