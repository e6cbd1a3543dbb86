import { statSync } from "node:fs";
import { expect, test } from "vitest";
import { archive, describeAsRoot, file, hardlink, unpackingPlace } from "./unpack-layer.fixture.ts";

const { unpack, at, read } = unpackingPlace();

describeAsRoot("a hard link to what the layer also hides", () => {
  test("refers to the entry that replaced its target in the same layer", async () => {
    await unpack(archive([file(".wh.tool"), file("tool", "new"), hardlink("alias", "tool")]));
    expect(read("alias")).toBe("new");
    expect(statSync(at("tool")).nlink).toBe(2);
  });

  test("is rejected when its target was removed without replacement", async () => {
    await expect(unpack(archive([file(".wh.tool"), hardlink("alias", "tool")]))).rejects.toThrow(
      /hard link to "tool", which the layer does not have/,
    );
  });
});
