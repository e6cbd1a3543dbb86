import { statSync } from "node:fs";
import { expect, test } from "vitest";
import { archive, describeAsRoot, file, hardlink, unpackingPlace } from "./unpack-layer.fixture.ts";

const { unpack, at, read } = unpackingPlace();

describeAsRoot("a hard link to what the layer also hides", () => {
  test("is one to what the layer has put in its place", async () => {
    await unpack(archive([file(".wh.tool"), file("tool", "new"), hardlink("alias", "tool")]));
    expect(read("alias")).toBe("new");
    expect(statSync(at("tool")).nlink).toBe(2);
  });

  test("is refused when there is nothing in its place", async () => {
    await expect(unpack(archive([file(".wh.tool"), hardlink("alias", "tool")]))).rejects.toThrow(
      /hard link to "tool", which the layer does not have/,
    );
  });
});
