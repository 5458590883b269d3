import { useEffect, useSyncExternalStore } from "react"
import { keyMap, type KeyBinding, type KeyGroup } from "@/lib/keys"

/** Keys that work while the caller is shown, under a title in the list of keys. `bindings` should be the same until they change. */
export function useKeys(title: string, bindings: readonly KeyBinding[]): void {
  useEffect(() => keyMap.add({ title, bindings }), [title, bindings])
}

/** Once for the whole page: hear the keys. */
export function useKeyboard(): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => void keyMap.press(event)
    window.addEventListener("keydown", press)
    return () => window.removeEventListener("keydown", press)
  }, [])
}

export function useKeyGroups(): readonly KeyGroup[] {
  return useSyncExternalStore(keyMap.subscribe, keyMap.all)
}

export function useLetterKeys(): [boolean, (on: boolean) => void] {
  return [useSyncExternalStore(keyMap.subscribe, keyMap.letters), (on) => keyMap.switchLetters(on)]
}
