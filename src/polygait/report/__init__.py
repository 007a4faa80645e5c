"""What is told about results: tables, figures, pages, videos."""
