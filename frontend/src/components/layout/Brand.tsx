import { Group, Text } from "@mantine/core"
import { Link } from "react-router"

export function Brand() {
  return (
    <Link to="/jobs" style={{ textDecoration: "none", color: "inherit" }} aria-label="Gradstream, to the list of jobs">
      <Group gap={10} wrap="nowrap">
        <img src="/assets/favicon.svg" width={28} height={28} alt="" />
        <Text fw={650} fz="lg" lts="-0.02em">
          Gradstream
        </Text>
      </Group>
    </Link>
  )
}
