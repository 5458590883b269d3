"""The serving of one shard of the center, whichever program holds it: fetch the payload of an entry, let the shard machine decide,
answer, store files, report. `ps_node` drives it along the log. Where a job has no servers, each worker drives one.

Named after its work: `gradstream.serving` serves exported models, and `gradstream.center` decides without any input or output."""
