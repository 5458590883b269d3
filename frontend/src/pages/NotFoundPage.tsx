import { Anchor } from "@mantine/core"
import { IconMapOff } from "@tabler/icons-react"
import { Link } from "react-router"
import { Loaded } from "@/components/Loaded"

export function NotFoundPage() {
  return (
    <Loaded
      isEmpty
      emptyIcon={IconMapOff}
      height={320}
      empty={
        <>
          There is no page at this address.{" "}
          <Anchor component={Link} to="/jobs" underline="always">
            To the list of jobs
          </Anchor>
        </>
      }
    >
      {null}
    </Loaded>
  )
}
