import { NothingHere } from "@/components/page/NothingHere"

export function NotFoundPage() {
  return <NothingHere title="Not found" why="There is no page at this address." />
}
