// Pictures for a prompt, from the camera, a file or the clipboard. They are sent when they are chosen; the prompt names them.

import { ImagePlus, LoaderCircle, X } from "lucide";
import { useState } from "preact/hooks";
import { api, problemOf } from "../api/http";
import { say, state } from "../app";
import { useStore } from "../store";
import { Icon } from "../ui/icon";

/** Larger ones are made smaller before they are sent: in bytes, and in pixels along the longer side. */
const LARGEST = 2 << 20;
const LONGEST_SIDE = 2048;
const TAKEN = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

export type Attached = { key: number; preview: string; name: string | undefined };

export function usePictures() {
  const able = useStore(state, (now) => now.hello?.features.includes("images") ?? false);
  const [all, setAll] = useState<readonly Attached[]>([]);
  const attach = async (file: File) => {
    const key = Date.now() + Math.random();
    setAll((before) => [...before, { key, preview: "", name: undefined }]);
    const change = (to: Partial<Attached>) =>
      setAll((before) => before.map((one) => (one.key === key ? { ...one, ...to } : one)));
    const drop = (why: string) => {
      say(why);
      setAll((before) => before.filter((one) => one.key !== key));
    };
    // Not every browser reads every picture that a camera makes.
    const read = await readable(file).catch(() => undefined);
    if (!read) return drop("This browser cannot read this picture");
    const { mediaType, data } = read;
    change({ preview: `data:${mediaType};base64,${data}` });
    try {
      change({ name: (await api.image(mediaType, data)).name });
    } catch (error) {
      drop(problemOf(error).message);
    }
  };
  return {
    able,
    all,
    attach: (files: Iterable<File>) => {
      for (const file of files) if (file.type.startsWith("image/")) void attach(file);
    },
    remove: (key: number) => setAll((before) => before.filter((one) => one.key !== key)),
    clear: () => setAll([]),
  };
}

export type Pictures = ReturnType<typeof usePictures>;

async function readable(file: File): Promise<{ mediaType: string; data: string }> {
  const small = file.size <= LARGEST && TAKEN.has(file.type) ? file : await smaller(file);
  return { mediaType: small.type, data: await base64(small) };
}

async function smaller(file: File): Promise<Blob> {
  const picture = await createImageBitmap(file);
  const by = Math.min(1, LONGEST_SIDE / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(picture.width * by);
  canvas.height = Math.round(picture.height * by);
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  picture.close();
  return new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("the picture could not be read"))),
      "image/jpeg",
      0.85,
    ),
  );
}

function base64(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(new Error("the picture could not be read"));
    reader.onload = () => resolve(String(reader.result).split(",", 2)[1] ?? "");
    reader.readAsDataURL(blob);
  });
}

export function AttachButton({ pictures }: { pictures: Pictures }) {
  if (!pictures.able) return null;
  return (
    <label class="plain round attach">
      <input
        type="file"
        accept="image/*"
        multiple
        aria-label="Add a picture"
        onChange={(event) => {
          pictures.attach(event.currentTarget.files ?? []);
          event.currentTarget.value = "";
        }}
      />
      <Icon of={ImagePlus} size={20} />
    </label>
  );
}

export function AttachedPictures({ pictures }: { pictures: Pictures }) {
  if (pictures.all.length === 0) return null;
  return (
    <ul class="attached" aria-label="Pictures">
      {pictures.all.map(({ key, preview, name }) => (
        <li key={key}>
          {preview !== "" && <img src={preview} alt="Attachment" />}
          {name === undefined && <Icon of={LoaderCircle} size={18} spin />}
          <button
            type="button"
            class="plain round"
            aria-label="Remove picture"
            onClick={() => pictures.remove(key)}
          >
            <Icon of={X} size={14} />
          </button>
        </li>
      ))}
    </ul>
  );
}
