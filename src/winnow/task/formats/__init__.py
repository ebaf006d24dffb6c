"""Readers, one per file format; each gives `winnow.task.rows.Rows` with every record and every broken one."""
