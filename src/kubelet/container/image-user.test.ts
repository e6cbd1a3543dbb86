import { expect, test } from "vitest";
import { ImageStatusResponse } from "../../cri/generated/cri.ts";
import { createImageUserReader } from "./image-user.ts";

const { signal } = new AbortController();

function reader(...answers: Parameters<typeof ImageStatusResponse.fromPartial>[0][]) {
  const asked: string[] = [];
  const read = createImageUserReader({
    images: {
      imageStatus: async ({ image }) => {
        asked.push(image?.image ?? "");
        return ImageStatusResponse.fromPartial(answers.shift() ?? {});
      },
    },
  });
  return { asked, read };
}

test.each([
  ["a number", { image: { uid: { value: 101n } } }, { uid: 101 }],
  ["a name", { image: { username: "web" } }, { username: "web" }],
  ["nothing", { image: {} }, { uid: 0 }],
  ["no such image", {}, { uid: 0 }],
])("%s", async (_, answer, user) => {
  expect(await reader(answer).read("web:1", signal)).toEqual(user);
});

test("an image by its digest is asked for once, one that is not there again", async () => {
  const { asked, read } = reader({}, { image: { username: "web" } });
  await read("sha256:1", signal);
  expect(await read("sha256:1", signal)).toEqual({ username: "web" });
  expect(await read("sha256:1", signal)).toEqual({ username: "web" });
  expect(asked).toHaveLength(2);
});

test("a tag can come to mean another image", async () => {
  const { read } = reader({ image: { username: "web" } }, { image: { username: "other" } });
  await read("web:1", signal);
  expect(await read("web:1", signal)).toEqual({ username: "other" });
});
