"""Files exchanged with learning platforms: submissions, class lists, lists of grades.

===================  ====================================================================================
module               content
===================  ====================================================================================
`filename_patterns`  names of files in a platform's download, and how a course states its own
`student_matching`   identification of students by file names, lists and platforms
`csv_files`          CSV files of platforms, in any encoding, with any separator, in any language
`class_lists`        class lists of Moodle, Canvas and HISinOne, and the course's own with further columns
`worksheets`         Moodle's grading worksheet: participants, submission times, and their grades
`gradebooks`         Canvas's gradebook: its rows of students, and the column of an assignment
`sources`            submissions found in one download or folder
`placement`          attempts moved into the course's folders, each completely or not at all
===================  ====================================================================================
"""
